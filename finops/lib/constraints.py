"""Constraints that many models share, each with its name in the database and the message for people."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Lower


def unique_in_account(field: str, *, name: str, message: str) -> models.UniqueConstraint:
    """Constraint: no two rows of an account have the same text, whatever its case."""
    return models.UniqueConstraint("account", Lower(field), name=name, violation_error_message=message)


def unique_by_owner(prefix: str, noun: str) -> list[models.UniqueConstraint]:
    """Constraints: no two names among the shared rows of an account, nor among those of one owner, whatever their case.
    Shared rows have no owner."""
    return [
        models.UniqueConstraint(
            "account",
            Lower("name"),
            condition=models.Q(owner=None),
            name=f"{prefix}_shared_name_unique",
            violation_error_message=f"A shared {noun} with this name already exists.",
        ),
        models.UniqueConstraint(
            "account",
            "owner",
            Lower("name"),
            condition=models.Q(owner__isnull=False),
            name=f"{prefix}_own_name_unique",
            violation_error_message=f"You already have a {noun} with this name.",
        ),
    ]


def not_empty(*fields: str, name: str, message: str | None = None) -> models.CheckConstraint:
    """Constraint: none of the texts is empty."""
    condition = models.Q()
    for field in fields:
        condition &= ~models.Q(**{field: ""})
    return models.CheckConstraint(condition=condition, name=name, violation_error_message=message)
