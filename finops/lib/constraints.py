"""Constraints that many models share, each with its name in the database and the message for people."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Lower


def unique_in_account(field: str, *, name: str, message: str) -> models.UniqueConstraint:
    """Constraint: no two rows of an account have the same text, whatever its case."""
    return models.UniqueConstraint("account", Lower(field), name=name, violation_error_message=message)


def not_empty(*fields: str, name: str, message: str | None = None) -> models.CheckConstraint:
    """Constraint: none of the texts is empty."""
    condition = models.Q()
    for field in fields:
        condition &= ~models.Q(**{field: ""})
    return models.CheckConstraint(condition=condition, name=name, violation_error_message=message)
