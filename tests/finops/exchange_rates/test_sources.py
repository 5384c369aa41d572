"""Rates that come by themselves: of the European Central Bank's file, and of the bills."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pytest_django import Settings

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import CostSource
from finops.costs.services.currencies import refresh_currencies, take_bill_rates
from finops.exchange_rates.models import ExchangeRate, ExchangeRateTable
from finops.exchange_rates.queries import version_of
from finops.exchange_rates.services import enter_rate, fetch_rates
from finops.lake import schema
from finops.lake.schema import ExtensionKey, Kind
from finops.lake.storage import segments
from tests.cast import ACTOR, Cast
from tests.factories.costs import Line, add_source, cost
from tests.factories.imports import import_bill
from tests.finops.costs.focus_reader import as_csv
from tests.finops.exchange_rates.test_rate_files import BOMB, ECB
from tests.receivers import Receiver

DAY = date(2026, 3, 18)
FIRST = date(2026, 3, 1)


def stored_rates() -> list[tuple[date, str, str, Decimal, str]]:
    return list(ExchangeRate.objects.values_list("day", "base", "quote", "rate", "source"))


@pytest.fixture
def bank(receiver: Receiver, settings: Settings) -> Receiver:
    settings.EXCHANGE_RATES_URL = receiver.url
    receiver.answer(200, ECB)
    return receiver


def test_nothing_is_fetched_without_an_address(acme: Account, settings: Settings) -> None:
    settings.EXCHANGE_RATES_URL = ""
    assert fetch_rates() == 0
    assert not ExchangeRateTable.objects.exists()


def test_the_bank_s_rates_come_to_every_account_once(acme: Account, cast: Cast, bank: Receiver) -> None:
    assert fetch_rates() == 2
    version = version_of(acme)
    assert len(stored_rates()) == 3
    with account_scope(cast.other_account):
        assert len(stored_rates()) == 3
    assert fetch_rates() == 0
    assert version_of(acme) == version


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (500, "", "127.0.0.1 answered 500."),
        (200, BOMB, "The file has a document type or entities, not supported."),
        (200, "<html></html>", "The file has no rates of the European Central Bank."),
        (200, "x" * (10 * 1024**2 + 1), "The file of 127.0.0.1 is larger than 10 MB."),
    ],
)
def test_a_fetch_that_fails_is_said_and_keeps_the_rates(
    acme: Account, bank: Receiver, status: int, body: str, problem: str
) -> None:
    fetch_rates()
    bank.answer(status, body)
    assert fetch_rates() == 0
    table = ExchangeRateTable.objects.get()
    assert table.fetch_error == problem
    assert table.fetched_at is not None
    assert len(stored_rates()) == 3


def test_an_address_inside_the_network_is_refused(acme: Account, bank: Receiver, settings: Settings) -> None:
    settings.ALERT_ALLOWED_NETWORKS = []
    assert fetch_rates() == 0
    assert ExchangeRateTable.objects.get().fetch_error
    assert bank.requests == []


def store_with_extensions(account: Account, source: CostSource, rows: list[Line]) -> None:
    keys = sorted({name for row in rows for name in row if name.startswith("x:")})
    full = schema.segment_schema(Kind.COST, [ExtensionKey(schema.extension_name(key)) for key in keys])
    table = pa.Table.from_pylist([{**row, "source": str(source.pk)} for row in rows], schema=full)
    new = segments.write_segment(
        account_id=account.pk,
        kind=Kind.COST,
        source_id=source.pk,
        month=FIRST,
        batches=table.to_batches(),
        schema=full,
    )
    segments.swap_segments(account=account, kind=Kind.COST, source_id=source.pk, months=[FIRST], new=[new])


def test_rates_of_azure_and_google_bills_are_taken_by_the_day_of_their_lines(
    acme: Account, source: CostSource
) -> None:
    azure = {schema.extension_column("BillingExchangeRate"): "0.9123", "pricing_currency": "USD"}
    google = {schema.extension_column("CurrencyConversionRate"): "0.85"}
    store_with_extensions(
        acme,
        source,
        [
            cost(DAY, 1, currency="EUR", **azure),
            cost(DAY, 1, currency="EUR", **azure),
            cost(DAY, 1, currency="EUR", **{**azure, schema.extension_column("BillingExchangeRate"): "0.8"}),
            cost(DAY, 1, currency="GBP", **google),
            cost(DAY, 1, currency="USD", **{schema.extension_column("CurrencyConversionRate"): "1"}),
            cost(DAY, 1, currency="JPY", **{schema.extension_column("CurrencyConversionRate"): "none"}),
        ],
    )
    assert take_bill_rates(source, DAY + timedelta(days=1), date.max) == 0
    assert take_bill_rates(source) == 2
    assert stored_rates() == [
        (DAY, "USD", "EUR", Decimal("0.9123"), "bill"),
        (DAY, "USD", "GBP", Decimal("0.85"), "bill"),
    ]
    assert take_bill_rates(source) == 0


def test_an_import_takes_the_rates_of_the_days_that_it_brings(
    cast: Cast, source: CostSource, tmp_path: Path
) -> None:
    for month in ("2026-05", "2026-06"):
        ExchangeRate.objects.all().delete()
        path = tmp_path / f"{month}.csv"
        row = {
            "BillingPeriodStart": f"{month}-01T00:00:00Z",
            "ChargePeriodStart": f"{month}-03T00:00:00Z",
            "BillingCurrency": "EUR",
            "PricingCurrency": "USD",
            "x_BillingExchangeRate": "0.9",
        }
        path.write_bytes(as_csv(row))
        import_bill(cast, source, path)
        assert stored_rates() == [(date.fromisoformat(f"{month}-03"), "USD", "EUR", Decimal("0.9"), "bill")]


def test_an_account_has_the_currencies_of_its_lines(acme: Account) -> None:
    add_source(acme, [cost(DAY, 1), cost(DAY, 5, currency="EUR")])
    refresh_currencies(acme)
    acme.refresh_from_db()
    assert acme.currencies == ["EUR", "USD"]


def test_rates_are_of_one_account(acme: Account, cast: Cast) -> None:
    enter_rate(account=acme, actor=ACTOR, day=DAY, base="EUR", quote="USD", rate=Decimal(2))
    with account_scope(cast.other_account):
        assert stored_rates() == []
        assert version_of(cast.other_account) == 0
