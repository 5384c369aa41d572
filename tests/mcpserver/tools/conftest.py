from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal

import pytest
from pytest_django import DjangoDbBlocker

from accounts.models import Account
from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.periods import add_months
from finops.unitcosts.services.customer_mappings import set_customer_key
from tests.cast import ACTOR, Cast, make_cast
from tests.factories.costs import add_source, cost
from tests.factories.module_scope import module_account
from tests.factories.usage import event, push_events

SERVICES, MONTHS, KEYS, CUSTOMERS = 200, 13, 60, 60


@pytest.fixture(scope="module")
def busy_account(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cast]:
    """The cast, whose account has thirteen months of 200 services with long names in two currencies, tagged with 60
    keys; every charge; and usage of 60 customers, one of whom has cost."""
    with module_account(django_db_blocker, tmp_path_factory.mktemp("busy"), clock.now()):
        cast = make_cast()
        _fill(cast.account)
        yield cast


def _fill(account: Account) -> None:
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
    used = [
        event(
            clock.today() - timedelta(days=back),
            "prod" if number == 0 else f"customer-with-a-long-id-{number:03}",
            number + 1,
            metric="requests",
            unit="request",
            dimensions={"region": "eu" if number % 2 else "us"},
        )
        for back in range(1, 8)
        for number in range(CUSTOMERS)
    ]
    with account_scope(account):
        add_source(account, lines, name="All clouds")
        push_events(account, used)
        set_customer_key(account=account, actor=ACTOR, dimension="tag:env")


def _days() -> list[date]:
    today = clock.today()
    return [add_months(today, -back) for back in range(MONTHS)]
