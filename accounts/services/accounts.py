"""Creating an account, its settings and its glossary."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.utils.text import slugify

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account, AuditEntry, GlossaryTerm, Membership, Role, User
from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError
from finops.lib.holidays import countries

PER_DAY: Final = 50
"""The most accounts that a person creates in 24 hours. Each has its own share of the slots and rate limits."""


@transaction.atomic
def create_account(*, name: str, owner: User, slug: str = "", actor: Actor | None = None) -> Account:
    """Create an account with its owner. The slug is made from the name when none is given.

    Raises ValidationError for a name or slug that the database would refuse, and UserError beyond the daily limit of a
    person.
    """
    actor = actor or Actor.of_user(owner)
    if actor.user is not None:
        User.objects.select_for_update().get(pk=actor.user.pk)  # so that the count is exact
        recent = AuditEntry.objects.unscoped().filter(
            actor_user=actor.user, action="account.create", at__gt=clock.now() - timedelta(days=1)
        )
        if recent.count() >= PER_DAY:
            raise UserError(f"Limit of {PER_DAY} new accounts in 24 hours reached. Try again later.")
    if not slug:
        slug = slugify(name)[:50] or "account"
        if Account.objects.filter(slug=slug).exists():
            slug = f"{slug}-{secrets.token_hex(3)}"
    account = Account(name=name.strip(), slug=slug)
    account.full_clean()
    account.save(force_insert=True)
    Membership.objects.create(account=account, user=owner, role=Role.OWNER)
    audit.record(account=account, actor=actor, action="account.create", target=account.name)
    return account


@transaction.atomic
def change_account(
    *,
    account: Account,
    actor: Actor,
    name: str,
    fiscal_start_month: int,
    holiday_country: str | None = None,
    display_currency: str | None = None,
) -> None:
    """Change an account's name, fiscal year, country of public holidays in forecasts, or display currency (None: unchanged;
    empty: none). The slug stays, because links and bookmarks contain it. Raises UserError for an unknown country or
    currency."""
    fields = ("name", "fiscal_start_month", "holiday_country", "display_currency")
    before = {field: getattr(account, field) for field in fields}
    account.name, account.fiscal_start_month = name.strip(), fiscal_start_month
    if holiday_country is not None:
        if holiday_country and holiday_country not in countries():
            raise UserError(
                f"Public holidays of {holiday_country!r} are not available.", field="holiday_country"
            )
        account.holiday_country = holiday_country
    if display_currency is not None:
        account.display_currency = display_currency and currency_code(
            display_currency, field="display_currency"
        )
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


MAX_TERMS = 50


@transaction.atomic
def replace_glossary(*, account: Account, actor: Actor, terms: Sequence[tuple[str, str]]) -> None:
    """Replace the whole glossary with these (term, meaning) pairs. Assistants receive it with the instructions.

    Raises UserError for over 50 terms (an assistant reads them each time), or a term named twice; ValidationError for one
    that is empty or too long.
    """
    if len(terms) > MAX_TERMS:
        raise UserError(f"{len(terms)} terms; the maximum is {MAX_TERMS}.", field="terms")
    names = [term.casefold() for term, _meaning in terms]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UserError(f"The term {twice!r} is given twice. Use one line per term.", field="terms")
    with account_scope(account):
        before = {row.term: row.meaning for row in GlossaryTerm.objects.select_for_update()}
        GlossaryTerm.objects.all().delete()
        for term, meaning in terms:
            row = GlossaryTerm(account=account, term=term, meaning=meaning)
            row.full_clean(exclude=["account"])
            row.save(force_insert=True)
    audit.record(
        account=account, actor=actor, action="glossary.change", detail={"from": before, "to": dict(terms)}
    )
