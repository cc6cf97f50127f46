"""What a reader practices with: formulas that are read and graded, by mathematics alone."""
