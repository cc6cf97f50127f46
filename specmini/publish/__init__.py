"""What leaves the house beside the site: an archive of it, and chapters that run elsewhere."""
