"""Bills of Lumenly Labs to its own customers by Stripe: invoices and subscriptions in the form of Stripe's API, which a connection replays.

Made from the calendar alone, as everything of the demo. Nine customers; one has left, one pays in euros, one invoice was void.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.connections.connectors.stripe_sample import LISTS, StripeSample, replay_folder
from finops.connections.models import CostConnection
from finops.connections.services import create_connection
from finops.demo.company import CUSTOMERS, DemoCustomer, fraction
from finops.demo.deliveries import complete_sync
from finops.lib.errors import UserError
from finops.lib.periods import add_months, month_start

SOURCE_NAME: Final = "Stripe (replay)"
LABS_CUSTOMERS: Final = CUSTOMERS[12:21]
SEAT_PRICE: Final = 1_900
"""Cents a month."""
_LEFT, _IN_EUROS, _VOID = "cust-020", "cust-015", "cust-017"


def ensure_stripe(account: Account, actor: Actor, first: date, last: date) -> int:
    """Write the lists up to this day, and sync them into the account in scope if they changed. Returns the number of events that the
    sync stored. Raises UserError for a sync that failed."""
    has_changed = _write(first, last)
    connection = CostConnection.objects.filter(usage_source__name=SOURCE_NAME).first()
    if connection is not None and connection.last_success_at is not None and not has_changed:
        return 0
    if connection is None:
        connection = create_connection(
            account=account,
            actor=actor,
            name=SOURCE_NAME,
            connector=StripeSample.name,
            values={"customer_field": "tenant_id"},
        )
    sync = complete_sync(connection, actor)
    if sync.error:
        raise UserError(f"{SOURCE_NAME}: {sync.error}")
    return sync.rows


def _write(first: date, last: date) -> bool:
    """Write the lists. Returns whether any of them changed."""
    folder, has_changed = replay_folder(), False
    folder.mkdir(parents=True, exist_ok=True)
    for path, rows in (
        ("/v1/invoices", _invoices(first, last)),
        ("/v1/subscriptions", _subscriptions(first, last)),
    ):
        # Newest first, as Stripe lists.
        listed = sorted(rows, key=lambda row: (-row["created"], row["id"]))
        file, content = folder / LISTS[path], msgspec.json.encode(listed)
        if not file.exists() or file.read_bytes() != content:
            file.write_bytes(content)
            has_changed = True
    return has_changed


def _invoices(first: date, last: date) -> Iterator[dict[str, Any]]:
    """One a customer on the first day of each month that it is there, of the seats of then."""
    month = month_start(first)
    while month <= last:
        for customer in LABS_CUSTOMERS:
            if month >= first and not _has_left(customer, month, last):
                yield _invoice(customer, month, last)
        month = add_months(month, 1)


def _invoice(customer: DemoCustomer, month: date, last: date) -> dict[str, Any]:
    amount = _seats(customer) * SEAT_PRICE
    currency = "eur" if customer.id == _IN_EUROS else "usd"
    is_void = customer.id == _VOID and month == month_start(last)
    return {
        "id": f"in_{customer.id}_{month:%Y%m}",
        "object": "invoice",
        "created": _seconds(month),
        "currency": currency,
        "status": "void" if is_void else "paid",
        "total": amount * 119 // 100 if currency == "eur" else amount,
        "total_excluding_tax": amount,
        "customer": _customer(customer),
    }


def _subscriptions(first: date, last: date) -> Iterator[dict[str, Any]]:
    for customer in LABS_CUSTOMERS:
        end = _end(last) if _has_left(customer, last, last) else None
        yield {
            "id": f"sub_{customer.id}",
            "object": "subscription",
            "created": _seconds(first),
            "start_date": _seconds(first),
            "ended_at": _seconds(end) if end else None,
            "status": "canceled" if end else "active",
            "customer": _customer(customer),
            "items": {"object": "list", "data": [{"quantity": _seats(customer)}]},
        }


def _customer(customer: DemoCustomer) -> dict[str, Any]:
    return {
        "id": f"cus_{customer.id.removeprefix('cust-')}",
        "object": "customer",
        "name": customer.name,
        "metadata": {"tenant_id": customer.id},
    }


def _seats(customer: DemoCustomer) -> int:
    return 3 + int(fraction("labs seats", customer.id) * 40)


def _end(last: date) -> date:
    return month_start(last) - timedelta(days=10)


def _has_left(customer: DemoCustomer, day: date, last: date) -> bool:
    return customer.id == _LEFT and day >= _end(last)


def _seconds(day: date) -> int:
    return int(datetime.combine(day, time(9), UTC).timestamp())
