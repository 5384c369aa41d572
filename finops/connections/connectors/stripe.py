"""Stripe: invoices as revenue by customer, and subscriptions and seats per day as gauges.

Revenue is the amount without tax of invoices with status open, paid and uncollectible, on the day of their creation;
credit notes and refunds are not deducted. Each currency is a metric of its own, since quantities of one metric add
up. Stripe has the start and end of a subscription, but only its current seats: days of a month have the seats at the
time of the fetch. A month that began more than two months ago is read once, when it becomes final.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Final

import msgspec

from finops.connections.connector import (
    HEADER_PATTERN,
    BillMonth,
    CheckFinding,
    Connector,
    ConnectorConfig,
    Contents,
    Fetch,
    SecretText,
    SetupStep,
)
from finops.connections.transports.http import HttpApi, Params
from finops.connections.transports.json_lines import UsageFiles, usage_files
from finops.connections.transports.pages import digest_of
from finops.connections.transports.recent_months import first_open_month, recent_months
from finops.costs.focus.normalise import FocusFile
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.periods import add_months, month_end, month_start

BASE_URL: Final = "https://api.stripe.com"
VERSION: Final = "2024-06-20"
SUBSCRIPTIONS, SEATS, REVENUE = "subscriptions", "seats", "revenue"
OPEN_MONTHS: Final = 2
"""Earlier months whose invoices a sync compares."""
INVOICED: Final = frozenset({"open", "paid", "uncollectible"})
PLACES: Final = {
    **dict.fromkeys(
        [
            "BIF",
            "CLP",
            "DJF",
            "GNF",
            "JPY",
            "KMF",
            "KRW",
            "MGA",
            "PYG",
            "RWF",
            "UGX",
            "VND",
            "VUV",
            "XAF",
            "XOF",
            "XPF",
        ],
        0,
    ),
    **dict.fromkeys(["BHD", "JOD", "KWD", "OMR", "TND"], 3),
}
"""Decimal places of currencies that do not have two."""


class StripeConfig(ConnectorConfig, frozen=True, kw_only=True):
    """A restricted key, and which of its customers' fields names them."""

    api_key: Annotated[
        SecretText,
        msgspec.Meta(
            title="Restricted key",
            description="With read access to customers, invoices and subscriptions.",
            examples=["rk_live_…"],
            min_length=20,
            max_length=400,
            pattern=HEADER_PATTERN,
        ),
    ]
    customer_field: Annotated[
        str,
        msgspec.Meta(
            title="Metadata key of the customer ID",
            description="Of a customer's metadata, where it has your own ID. Default: Stripe's ID.",
            examples=["tenant_id"],
            max_length=40,
        ),
    ] = ""


class _Customer(msgspec.Struct, frozen=True):
    id: str
    name: str | None = None
    email: str | None = None
    metadata: dict[str, str] | None = None


class _Invoice(msgspec.Struct, frozen=True):
    id: str
    created: int
    currency: str
    total: int
    status: str | None = None
    total_excluding_tax: int | None = None
    customer: _Customer | str | None = None


class _Item(msgspec.Struct, frozen=True):
    quantity: int | None = None


class _Items(msgspec.Struct, frozen=True):
    data: list[_Item]


class _Subscription(msgspec.Struct, frozen=True):
    id: str
    start_date: int
    items: _Items
    customer: _Customer | str
    ended_at: int | None = None
    status: str = ""


class _InvoicePage(msgspec.Struct, frozen=True):
    data: list[_Invoice]
    has_more: bool = False


class _SubscriptionPage(msgspec.Struct, frozen=True):
    data: list[_Subscription]
    has_more: bool = False


class Stripe(Connector[StripeConfig]):
    name = "stripe"
    title = "Stripe"
    provider = "Stripe"
    icon = "credit-card"
    docs_url = "https://docs.stripe.com/keys#limit-access"
    description = "Usage: revenue, subscriptions and seats by customer."
    order = 810
    contents = Contents.USAGE
    changes_while_read = True
    Config = StripeConfig

    def steps(self, external_id: str) -> Sequence[SetupStep]:
        return (
            SetupStep(
                "Create a restricted key",
                "In the Stripe Dashboard, open Developers > API keys. Grant Read on Customers, Invoices and Subscriptions, and "
                "nothing else.",
            ),
            SetupStep("Enter the key", "Stored encrypted and never shown again."),
        )

    def gauges(self, config: StripeConfig) -> frozenset[str]:
        return frozenset({SUBSCRIPTIONS, SEATS})

    def check(self, config: StripeConfig) -> list[CheckFinding]:
        api, today = self.api(config).for_check(), clock.today()
        findings = []
        for title, attempt in (
            ("Read invoices", lambda: next(_invoices(api, today, today), None)),
            ("Read subscriptions", lambda: next(_subscriptions(api), None)),
        ):
            try:
                attempt()
                findings.append(CheckFinding(title, True))
            except UserError as error:
                findings.append(CheckFinding(title, False, error.message))
        return findings

    def months(self, config: StripeConfig) -> list[BillMonth]:
        api, this_month = self.api(config), month_start(clock.today())
        facts: dict[date, list[str]] = defaultdict(list)
        for invoice in _invoices(api, first_open_month(OPEN_MONTHS), clock.today()):
            facts[month_start(_day(invoice.created))].append(f"{invoice}")
        for each in _subscriptions(api):
            dates = f"{each.id} {each.start_date} {each.ended_at} {each.status}"
            for back in range(OPEN_MONTHS + 1):
                # Past months keep the seats of their last fetch.
                seats = f" {each.items}" if back == 0 else ""
                facts[add_months(this_month, -back)].append(dates + seats)
        facts[this_month].append(f"{clock.today()}")  # each day has new values of gauges
        return recent_months(lambda month: digest_of(facts[month]), open_months=OPEN_MONTHS)

    def fetch(self, config: StripeConfig, month: BillMonth, fetch: Fetch) -> list[FocusFile]:
        api = self.api(config).for_fetch(fetch)
        last = min(month_end(month.month), clock.today())
        with usage_files(fetch, month.month) as files:
            for invoice in _invoices(api, month.month, last):
                _add_revenue(files, invoice, config)
            gauges = _gauges(_subscriptions(api), month.month, last, config)
            for (customer, day), (name, count, seats) in gauges.items():
                moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
                for metric, quantity in ((SUBSCRIPTIONS, count), (SEATS, seats)):
                    files.add(
                        customer=customer, name=name, metric=metric, quantity=Decimal(quantity), moment=moment
                    )
        return files.files()

    def api(self, config: StripeConfig) -> HttpApi:
        """Return Stripe's API with the key of the settings."""
        return HttpApi(
            connector=Stripe.name,
            vendor="Stripe",
            base_url=BASE_URL,
            headers={"Authorization": f"Bearer {config.api_key}", "Stripe-Version": VERSION},
            secrets=(config.api_key,),
            key_fix="Create a restricted key in the Stripe Dashboard under Developers > API keys and enter it in this connection.",
            scope_fix="Grant the key Read on Customers, Invoices and Subscriptions.",
        )


def _invoices(api: HttpApi, first: date, last: date) -> Iterator[_Invoice]:
    """Yield the invoices with revenue that were created on these days, both inclusive."""
    params: Params = [
        ("created[gte]", _seconds(first)),
        ("created[lt]", _seconds(last + timedelta(days=1))),
        ("expand[]", "data.customer"),
        ("limit", 100),
    ]
    for page in api.pages(
        lambda token: api.get("/v1/invoices", [*params, *_after(token)], _InvoicePage),
        lambda page: page.data[-1].id if page.has_more and page.data else "",
    ):
        yield from (each for each in page.data if each.status in INVOICED)


def _subscriptions(api: HttpApi) -> Iterator[_Subscription]:
    """Yield all subscriptions that ever started, without those whose first payment failed."""
    params: Params = [("status", "all"), ("expand[]", "data.customer"), ("limit", 100)]
    for page in api.pages(
        lambda token: api.get("/v1/subscriptions", [*params, *_after(token)], _SubscriptionPage),
        lambda page: page.data[-1].id if page.has_more and page.data else "",
    ):
        yield from (each for each in page.data if not each.status.startswith("incomplete"))


def _after(token: str) -> Params:
    return [("starting_after", token)] if token else []


def _seconds(day: date) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp())


def _day(seconds: int) -> date:
    return datetime.fromtimestamp(seconds, UTC).date()


def _customer_of(customer: _Customer | str | None, config: StripeConfig) -> tuple[str | None, str | None]:
    """Return the customer's ID (the value of the configured field, if it has one) and name."""
    if customer is None or isinstance(customer, str):
        return customer, None
    own = (customer.metadata or {}).get(config.customer_field) if config.customer_field else None
    return own or customer.id, customer.name or customer.email


def _add_revenue(files: UsageFiles, invoice: _Invoice, config: StripeConfig) -> None:
    currency = invoice.currency.upper()
    minor = invoice.total if invoice.total_excluding_tax is None else invoice.total_excluding_tax
    customer, name = _customer_of(invoice.customer, config)
    files.add(
        customer=customer,
        name=name,
        metric=f"{REVENUE}_{currency.lower()}",
        unit=currency,
        quantity=Decimal(minor).scaleb(-PLACES.get(currency, 2)),
        moment=datetime.fromtimestamp(invoice.created, UTC),
    )


def _gauges(
    subscriptions: Iterable[_Subscription], first: date, last: date, config: StripeConfig
) -> dict[tuple[str | None, date], tuple[str | None, int, int]]:
    """Return name, number of subscriptions and number of seats by customer and day."""
    values: dict[tuple[str | None, date], tuple[str | None, int, int]] = {}
    for each in subscriptions:
        customer, name = _customer_of(each.customer, config)
        more = sum(1 if item.quantity is None else item.quantity for item in each.items.data)
        end = min(last, _day(each.ended_at) - timedelta(days=1)) if each.ended_at is not None else last
        start = max(first, _day(each.start_date))
        for offset in range((end - start).days + 1):
            key = (customer, start + timedelta(days=offset))
            _name, count, seats = values.get(key, (None, 0, 0))
            values[key] = (name, count + 1, seats + more)
    return values
