"""Limits that an operator sets for an account."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.limits import LIMITS_BY_NAME
from accounts.models import Account
from finops.lib.errors import UserError


@transaction.atomic
def change_limits(*, account: Account, actor: Actor, limits: Mapping[str, int | None]) -> dict[str, int]:
    """Set limits by name, None for the server's default; others do not change. They apply from the
    next request. Existing rows beyond a lower limit stay. Returns all limits that differ from the defaults. Raises
    UserError for an unknown name and a value out of range."""
    for name, value in limits.items():
        limit = LIMITS_BY_NAME.get(name)
        if limit is None:
            raise UserError(f"{name} is not a limit of an account.", field=name)
        if value is not None and not limit.accepts(value):
            forever = " and not 0" if limit.zero and limit.minimum else ""
            raise UserError(
                f"{limit.title}: {value:,} is not between {limit.minimum:,} and {limit.maximum:,}{forever}.",
                field=name,
            )
    row = Account.objects.select_for_update().get(pk=account.pk)
    before = row.limits
    merged = {**before, **limits}
    row.limits = account.limits = {name: value for name, value in sorted(merged.items()) if value is not None}
    if row.limits != before:
        row.save(update_fields=["limits"])
        audit.record(
            account=row,
            actor=actor,
            action="account.limits",
            target=row.name,
            detail={"from": before, "to": row.limits},
        )
    return row.limits
