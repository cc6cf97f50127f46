"""What leaves the house beside the site: a zip, a PDF, chapters that run elsewhere."""
