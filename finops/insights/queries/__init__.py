"""Reads about what changed, what is wrong and how well the data is. The account must be in scope."""
