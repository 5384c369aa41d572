"""Reads about AI spend. The account must be in scope."""

from finops.ai_spend.queries.review import review_ai_spend

__all__ = ["review_ai_spend"]
