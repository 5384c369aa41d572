"""Currency data from an import: the currencies of the account's lines, and the exchange rates that bills used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any, Final

import ibis

from accounts.models import Account
from finops.costs.models import CostSource
from finops.exchange_rates.display import account_currencies
from finops.exchange_rates.models import ExchangeRate
from finops.exchange_rates.rate_files import checked_rate
from finops.exchange_rates.rates import SourceRate
from finops.exchange_rates.services import store_bill_rates
from finops.lake.engine import engine
from finops.lake.engine.conversion import RATE_SCALE
from finops.lake.schema import ExtensionKey, Kind, extension_column
from finops.lake.storage.manifest import cost_tag_keys
from finops.lib.errors import UserError

AZURE_RATE: Final = ExtensionKey("BillingExchangeRate")
"""One unit of the pricing currency in the billing currency: Microsoft's exchangeRatePricingToBilling."""
AZURE_PRICING: Final = ExtensionKey("PricingCurrency")
"""FOCUS 1.0 of Microsoft; later versions have the column PricingCurrency of FOCUS."""
GOOGLE_RATE: Final = ExtensionKey("CurrencyConversionRate")
"""One US dollar in the billing currency: Google's currency_conversion_rate."""
_KEYS: Final = (AZURE_RATE, AZURE_PRICING, GOOGLE_RATE)
_UNIT: Final = Decimal(1).scaleb(-RATE_SCALE)


def refresh_currencies(account: Account) -> None:
    """Save the currencies of the account's lines, largest cost first: pages show one at a time. One lake query."""
    currencies = account_currencies(account)
    # A single UPDATE of these columns, so that concurrent changes of the account are kept.
    Account.objects.filter(pk=account.pk).exclude(currencies=currencies).update(currencies=currencies)


def take_bill_rates(source: CostSource, first_day: date = date.min, last_day: date = date.max) -> int:
    """Save the exchange rates in a source's lines of these days, by charge day, and return how many are new. If a day
    has several, the one on most lines counts. No lake query if no bill of the account has such columns, else five
    columns of all lines of these days."""
    extensions = set(cost_tag_keys(source.account).extensions)
    if not extensions & {str(AZURE_RATE), str(GOOGLE_RATE)}:
        return 0
    table = engine.run(
        source.account,
        Kind.COST,
        first_day,
        last_day,
        _BillRates(str(source.pk)),
        tag_keys=_KEYS,
        in_own_currency=True,
    )
    rates: dict[tuple[date, str, str], SourceRate] = {}
    rows = sorted(table.to_pylist(), key=lambda row: (-row["lines"], row["rate"]))
    for rate in _readable(rows):
        rates.setdefault((rate.day, rate.base, rate.quote), rate)
    return store_bill_rates(account=source.account, rates=rates.values())


def _readable(rows: list[dict[str, Any]]) -> Iterator[SourceRate]:
    """Yield the valid rates: a bill may have any value in its own columns."""
    for row in rows:
        try:
            rate = Decimal(row["rate"]).quantize(_UNIT, rounding=ROUND_HALF_EVEN)
            yield checked_rate(row["day"], row["base"], row["quote"], rate, ExchangeRate.Source.BILL)
        except (UserError, InvalidOperation):
            continue


@dataclass(frozen=True)
class _BillRates:
    """Days, pairs and rates of a source, with the number of their lines."""

    source: str

    def __call__(self, table: Any) -> Any:
        azure, google = table[extension_column(AZURE_RATE)], table[extension_column(GOOGLE_RATE)]
        pricing = ibis.coalesce(table.pricing_currency, table[extension_column(AZURE_PRICING)])
        rows = table.select(
            "source",
            day=table.charge_date,
            base=ibis.ifelse(azure.notnull(), pricing, ibis.literal("USD")),
            quote=table.currency,
            rate=ibis.coalesce(azure, google),
        )
        rows = rows.filter(
            (rows.source == self.source)
            & rows.rate.notnull()
            & rows.base.notnull()
            & (rows.base != rows.quote)
        )
        return rows.group_by(["day", "base", "quote", "rate"]).aggregate(lines=rows.count())
