"""Data exports: set up, run by a worker, removed with their files or without."""
