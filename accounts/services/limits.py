"""Limits that an operator sets for an account."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.limits import LIMITS
from accounts.models import Account
from finops.lib.errors import UserError


@transaction.atomic
def change_limits(*, account: Account, actor: Actor, limits: Mapping[str, int | None]) -> dict[str, int]:
    """Set limits by the name of their setting, None for the server's default; others do not change. They apply from the
    next request. Existing rows beyond a lower limit stay. Returns all limits that differ from the defaults. Raises
    UserError for an unknown name and a value out of range."""
    by_setting = {limit.setting: limit for limit in LIMITS}
    for name, value in limits.items():
        if name not in by_setting:
            raise UserError(f"{name} is not a limit of an account.", field=name)
        if value is not None and not 1 <= value <= by_setting[name].maximum:
            raise UserError(
                f"{by_setting[name].label}: {value:,} is not between 1 and {by_setting[name].maximum:,}.",
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
