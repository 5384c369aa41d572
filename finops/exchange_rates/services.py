"""Writes of exchange rates."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Final

from django.conf import settings
from django.db import transaction
from django.db.models import F

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.exchange_rates.models import ExchangeRate, ExchangeRateTable
from finops.exchange_rates.rate_files import MAX_XML_BYTES, checked_rate, rates_of_csv, rates_of_ecb
from finops.exchange_rates.rates import SourceRate
from finops.lib import clock, outbound
from finops.lib.errors import UserError

Source = ExchangeRate.Source

FETCH_SECONDS: Final = 30.0
_UNIQUE: Final = ("account", "day", "base", "quote", "source")


@transaction.atomic
def enter_rate(
    *, account: Account, actor: Actor, day: date, base: str, quote: str, rate: Decimal
) -> ExchangeRate:
    """Enter a rate, replacing an entered one of the same pair and day. Raises UserError, with the field."""
    checked = checked_rate(day, base, quote, rate, Source.ENTERED)
    with account_scope(account):
        lock_account(account)
        _store(account, [checked], actor)
        row = ExchangeRate.objects.get(day=day, base=checked.base, quote=checked.quote, source=Source.ENTERED)
    audit.record(account=account, actor=actor, action="exchange_rate.enter", target=str(row))
    return row


@transaction.atomic
def upload_rates(*, account: Account, actor: Actor, content: bytes, name: str) -> int:
    """Store the rates of a CSV, replacing uploaded ones of the same pairs and days, and return how many. Raises
    RateFileError, and then stores none."""
    rates = rates_of_csv(content)
    with account_scope(account):
        lock_account(account)
        _store(account, rates, actor)
    days = sorted({rate.day for rate in rates})
    detail = {"rates": len(rates), "first_day": days[0].isoformat(), "last_day": days[-1].isoformat()}
    audit.record(
        account=account, actor=actor, action="exchange_rate.upload", target=name[:100], detail=detail
    )
    return len(rates)


@transaction.atomic
def delete_rate(*, rate: ExchangeRate, actor: Actor) -> None:
    """Delete a rate. Raises UserError for one that is already deleted, and for one that the next fetch or import would
    restore."""
    account = rate.account
    with account_scope(account):
        lock_account(account)
        row = existing(ExchangeRate.objects.all(), rate, "exchange rate")
        if row.source not in (Source.ENTERED, Source.UPLOADED):
            raise UserError(
                "Only rates that were entered or uploaded can be deleted. Enter another rate instead."
            )
        row.delete()
        _change_version(account)
    audit.record(account=account, actor=actor, action="exchange_rate.delete", target=str(row))


@transaction.atomic
def store_bill_rates(*, account: Account, rates: Iterable[SourceRate]) -> int:
    """Store the rates that a bill used, and return how many were new or changed. No audit entry: the import has its own."""
    with account_scope(account):
        changed = _new_or_different(rates)
        if changed:
            lock_account(account)
            _store(account, changed, None)
    return len(changed)


def fetch_rates() -> int:
    """Fetch the file of EXCHANGE_RATES_URL and store its rates for every account; return how many accounts got any. 0 where
    the setting is empty. An error is shown on each account's page, and the rates do not change."""
    if not settings.EXCHANGE_RATES_URL:
        return 0
    error, rates = "", []
    try:
        rates = rates_of_ecb(_download(settings.EXCHANGE_RATES_URL))
    except (UserError, outbound.DeliveryTimeout) as problem:
        error = str(getattr(problem, "message", problem))[:500]
    changed = 0
    for account in Account.objects.iterator():
        changed += _store_ecb_rates(account, rates, error)
    return changed


def _download(url: str) -> bytes:
    """Download the file. Raises UserError, UrlRefusal or DeliveryTimeout."""
    end = time.monotonic() + FETCH_SECONDS
    with outbound.open_stream(
        "GET", url, headers={"Accept": "application/xml"}, seconds=FETCH_SECONDS
    ) as answer:
        if answer.status != 200:
            raise UserError(f"{answer.host} answered {answer.status}.")
        content = b""
        while part := answer.read(64 * 1024):
            content += part
            if time.monotonic() > end:
                raise UserError(f"The file of {answer.host} took longer than {FETCH_SECONDS:g} seconds.")
            if len(content) > MAX_XML_BYTES:
                raise UserError(f"The file of {answer.host} is larger than {MAX_XML_BYTES // 1024**2} MB.")
    return content


@transaction.atomic
def _store_ecb_rates(account: Account, rates: Sequence[SourceRate], error: str) -> bool:
    """Store the rates and return whether any is new or changed."""
    with account_scope(account):
        lock_account(account)
        changed = _new_or_different(rates)
        if changed:
            _store(account, changed, None)
        fetched = {"fetch_error": error} if error else {"fetch_error": "", "fetched_at": clock.now()}
        ExchangeRateTable.objects.update_or_create(account=account, defaults=fetched)
    return bool(changed)


def _new_or_different(rates: Iterable[SourceRate]) -> list[SourceRate]:
    """The rates that the account in scope does not have yet. One query."""
    by_key = {(rate.day, rate.base, rate.quote, rate.source): rate for rate in rates}
    if not by_key:
        return []
    days, sources = {key[0] for key in by_key}, {key[3] for key in by_key}
    rows = ExchangeRate.objects.filter(day__in=days, source__in=sources)
    stored_rates = {
        (day, base, quote, source): rate
        for day, base, quote, source, rate in rows.values_list("day", "base", "quote", "source", "rate")
    }
    return [rate for key, rate in by_key.items() if stored_rates.get(key) != rate.rate]


def _store(account: Account, rates: Sequence[SourceRate], actor: Actor | None) -> None:
    user = actor.user if actor else None
    rows = [
        ExchangeRate(
            account=account,
            day=rate.day,
            base=rate.base,
            quote=rate.quote,
            rate=rate.rate,
            source=rate.source,
            recorded_by=user,
        )
        for rate in rates
    ]
    ExchangeRate.objects.bulk_create(
        rows,
        batch_size=2_000,
        update_conflicts=True,
        unique_fields=_UNIQUE,
        update_fields=["rate", "recorded_at", "recorded_by"],
    )
    _change_version(account)


def _change_version(account: Account) -> None:
    """Increase the version. The account is locked, so no two writers use the same number."""
    ExchangeRateTable.objects.get_or_create(account=account)
    ExchangeRateTable.objects.update(version=F("version") + 1)
