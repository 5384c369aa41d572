"""Data exports: set up, run by a worker, deleted with or without their files."""
