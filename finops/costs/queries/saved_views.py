"""Reads about saved views. The account must be in scope."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from accounts.models import User
from finops.costs.models import SavedView


def saved_views_of(user: User) -> QuerySet[SavedView]:
    """Return shared views and the person's own, by name."""
    return SavedView.objects.filter(Q(owner=None) | Q(owner=user)).select_related("created_by")
