"""Reads about what changed, what is wrong and how well the data is. The account must be in scope."""

from finops.insights.queries.health import data_health

__all__ = ["data_health"]
