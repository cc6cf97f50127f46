"""The built site, read in a real browser that can reach nothing else."""
