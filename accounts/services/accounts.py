"""Making an account, and its settings."""

from __future__ import annotations

import secrets

from django.db import transaction
from django.utils.text import slugify

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, Membership, Role, User
from finops.lib.errors import UserError
from finops.lib.holidays import countries


def _free_slug(name: str) -> str:
    base = slugify(name)[:50] or "account"
    if not Account.objects.filter(slug=base).exists():
        return base
    return f"{base}-{secrets.token_hex(3)}"


@transaction.atomic
def create_account(*, name: str, owner: User, slug: str = "", actor: Actor | None = None) -> Account:
    """A new account with its owner. The slug is made from the name when none is given.

    Raises ValidationError for a name or slug that the database would refuse.
    """
    account = Account(name=name.strip(), slug=slug or _free_slug(name))
    account.full_clean()
    account.save(force_insert=True)
    Membership.objects.create(account=account, user=owner, role=Role.OWNER)
    audit.record(
        account=account, actor=actor or Actor.of_user(owner), action="account.create", target=account.name
    )
    return account


@transaction.atomic
def change_account(
    *,
    account: Account,
    actor: Actor,
    name: str,
    fiscal_start_month: int,
    holiday_country: str | None = None,
) -> None:
    """Rename an account, move its fiscal year, or say whose public holidays its forecasts know (None: as it is). The slug
    stays: links and bookmarks hold it. Raises UserError for an unknown country."""
    fields = ("name", "fiscal_start_month", "holiday_country")
    before = {field: getattr(account, field) for field in fields}
    account.name, account.fiscal_start_month = name.strip(), fiscal_start_month
    if holiday_country is not None:
        if holiday_country and holiday_country not in countries():
            raise UserError(
                f"{holiday_country!r} is no country whose holidays are known.", field="holiday_country"
            )
        account.holiday_country = holiday_country
    account.full_clean()
    account.save(update_fields=fields)
    after = {field: getattr(account, field) for field in fields}
    audit.record(
        account=account,
        actor=actor,
        action="account.change",
        target=account.name,
        detail={"from": before, "to": after},
    )
