"""Bills of February 2026 (and before) for the tests of savings: the window is 30 January to 28 February."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.factories.costs import Line, cost
from tests.factories.days import days

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LAST = date(2026, 2, 28)
FIRST = LAST - timedelta(days=29)
WEEKENDS = 8
"""Weekend days in the window; 22 weekdays."""

Amount = Callable[[date], str | Decimal | int]


def daily(
    amount: Amount | str | int, first: date = FIRST, last: date = LAST, /, **columns: Any
) -> list[Line]:
    """A line a day of an EC2 instance of today; anything else by name."""
    values = {
        "provider": "AWS",
        "service": "Amazon Elastic Compute Cloud",
        "service_category": "Compute",
        "account_id": "111",
        "account_name": "prod",
        "region": "eu-west-1",
        "usage_type": "BoxUsage:m6i.large",
        "resource_id": "i-1",
        "consumed_unit": "Hours",
        "pricing_category": "Standard",
        **columns,
    }
    return [cost(day, amount(day) if callable(amount) else amount, **values) for day in days(first, last)]


def old(amount: str = "10", /, **columns: Any) -> list[Line]:
    return daily(amount, **{"usage_type": "BoxUsage:m4.xlarge", "resource_id": "i-old", **columns})


def dev(amount: Amount | str = "7", /, **columns: Any) -> list[Line]:
    return daily(amount, **{"resource_id": "i-dev", "tag:env": "dev", **columns})


def volume(amount: str = "10", /, **columns: Any) -> list[Line]:
    values = {
        "service_category": "Storage",
        "usage_type": "EU-EBS:VolumeUsage.gp2",
        "consumed_unit": "GB-Mo",
        "resource_id": "vol-1",
        **columns,
    }
    return daily(amount, **values)


def commitment_lines(
    amount: str, status: str, first: date = FIRST, last: date = LAST, /, **columns: Any
) -> list[Line]:
    """Lines of a savings plan; what it was used for is worth twice its price on demand."""
    worth = {"contracted_cost": Decimal(amount) * 2} if status == "Used" else {}
    values = {
        "commitment_id": "sp-1",
        "commitment_name": "Compute SP",
        "commitment_status": status,
        "pricing_category": "Committed",
        "resource_id": "i-9" if status == "Used" else None,
        "usage_type": "BoxUsage:m6i.large" if status == "Used" else "Savings Plan",
        **worth,
        **columns,
    }
    return daily(amount, first, last, **values)


def storage_lines(by_month: list[int], /, **columns: Any) -> list[Line]:
    """A bucket with so many GB a day from November to February; 1 GB costs 0.01 USD a day."""
    months = [
        (date(2025, 11, 1), 30),
        (date(2025, 12, 1), 31),
        (date(2026, 1, 1), 31),
        (date(2026, 2, 1), 28),
    ]
    lines: list[Line] = []
    for (first, length), size in zip(months, by_month, strict=True):
        values = {
            "service": "Amazon Simple Storage Service",
            "service_category": "Storage",
            "usage_type": "TimedStorage-ByteHrs",
            "consumed_unit": "GB-Mo",
            "consumed_quantity": Decimal(size),
            "resource_id": "bucket-1",
            **columns,
        }
        if size:
            lines += daily(str(Decimal(size) / 100), first, first + timedelta(days=length - 1), **values)
    return lines
