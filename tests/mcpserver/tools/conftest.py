from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.periods import add_months
from tests.cast import Cast
from tests.finops.costs.rows import add_source, cost

SERVICES, MONTHS, KEYS = 200, 13, 60


@pytest.fixture
def busy_account(cast: Cast) -> None:
    """Thirteen months of 200 services with long names in two currencies, tagged with 60 keys; and every charge."""
    tags = {f"key-{n:02}-with-a-name-of-some-length": "value" for n in range(KEYS)}
    lines = [
        cost(
            day,
            Decimal(f"{service + 1}.{month:02}1234567"),
            service=f"A service of some provider with a long name, number {service:03}",
            account_id=f"{service % 40:012}",
            account_name=f"Production account number {service % 40}",
            provider="AWS" if service % 2 else "Microsoft Azure",
            currency="USD" if service % 3 else "EUR",
            tags=tags if service % 10 == 0 else {"env": "prod"},
        )
        for month, day in enumerate(_days())
        for service in range(SERVICES)
    ]
    recent = clock.today() - timedelta(days=2)
    lines += [
        cost(recent, -50, charge_category="Credit"),
        cost(recent, 19, charge_category="Tax"),
        cost(recent, 500, charge_category="Purchase", charge_frequency="One-Time"),
    ]
    with account_scope(cast.account):
        add_source(cast.account, lines, name="All clouds")


def _days() -> list[date]:
    today = clock.today()
    return [add_months(today, -back) for back in range(MONTHS)]
