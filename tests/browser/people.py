"""Rows for the browser tests, made inside the server's world."""

from __future__ import annotations

import random
from datetime import date, timedelta
from decimal import Decimal

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import CostImport, CostSource
from finops.costs.tasks import run_due_imports
from finops.lib import clock
from finops.lib.periods import add_months, month_start
from finops.unitcosts.models import CustomerKey
from ingestion.models import Customer
from tests.cast import PASSWORD, make_cast
from tests.finops.lake.facts import line, store
from tests.ingestion.events import event, know, push

SERVICES = [
    ("AWS", "Amazon Elastic Compute Cloud", "Compute", 410),
    ("AWS", "Amazon Relational Database Service", "Databases", 180),
    ("AWS", "Amazon Simple Storage Service", "Storage", 90),
    ("Google Cloud", "BigQuery", "Analytics", 130),
    (
        "Microsoft",
        "Azure Kubernetes Service for machine learning workloads of the research team",
        "Compute",
        75,
    ),
    ("OpenAI", "GPT API", "AI and Machine Learning", 60),
]


CUSTOMERS = [
    "globex",
    "initech-0b9f6a0e-5d1c-4f0e-9c53-7d3a1f2b4c5d-production",
    "株式会社",
    *(f"c-{n}" for n in range(9)),
]

OWNERS = [*CUSTOMERS[:5], "Globex", "a-tag-value-that-no-customer-has"]
"""Whose the machines and databases are, as their tags say."""


def cast() -> dict[str, str]:
    """The cast, without any cost."""
    people = make_cast()
    return {"slug": people.account.slug, "password": PASSWORD}


def cast_with_costs() -> dict[str, str]:
    """The cast, thirteen months of cost in two currencies with credits and tax, and two months of usage."""
    people = make_cast()
    with account_scope(people.account):
        source = CostSource.objects.create(name="Clouds")
    today = clock.today()
    for back in range(13):
        month = add_months(today, -back)
        store(people.account, _lines(month, today), source_id=source.pk, month=month)
    with account_scope(people.account):
        _push_usage(people.account, today)
        CustomerKey.objects.create(account=people.account, dimension="tag:customer")
    return {"slug": people.account.slug, "password": PASSWORD}


def _push_usage(account: Account, today: date) -> None:
    """Requests and seats of a dozen customers, in two units, as their backend pushed them."""
    chance = random.Random(7)
    pushed = []
    for back in range(60):
        day = today - timedelta(days=back)
        for number, customer in enumerate(CUSTOMERS):
            calls = round(900 / (number + 1) * chance.uniform(0.7, 1.3))
            region = {"region": chance.choice(["eu", "us", "ap"])}
            pushed.append(event(day, customer, calls, unit="call", dimensions=region))
            pushed.append(event(day, customer, 40 - 3 * number, metric="seats", unit="seat"))
    pushed.append(event(today, CUSTOMERS[0], "1.5", unit="k calls"))
    know(account, pushed, seats="average_of_days")
    push(account, pushed)
    Customer.objects.filter(customer_id=CUSTOMERS[0]).update(
        name="Globex Gesellschaft für Weltherrschaft und Maschinenbau mit beschränkter Haftung"
    )


def _lines(month: date, today: date) -> list[dict[str, object]]:
    chance = random.Random(month.isoformat())
    rows: list[dict[str, object]] = []
    day = month_start(month)
    while day < min(add_months(month, 1), today):
        for place, (provider, service, category, size) in enumerate(SERVICES):
            cost = Decimal(str(round(size * chance.uniform(0.8, 1.25), 4)))
            tags = {"env": chance.choice(["prod", "dev"])} if chance.random() < 0.8 else {}
            tags |= {"customer": OWNERS[day.day % len(OWNERS)]} if place < 2 else {}
            rows.append(
                line(
                    day,
                    cost,
                    source=str(month.year),
                    provider=provider,
                    service=service,
                    service_category=category,
                    region=chance.choice(["eu-west-1", "us-east-1"]),
                    charge_category="Usage",
                    tags=tags,
                )
            )
        day += timedelta(days=1)
    if rows:
        rows.append(
            line(
                month_start(month), "-250.5", provider="AWS", service="AWS Credits", charge_category="Credit"
            )
        )
        rows.append(line(month_start(month), "512.25", provider="AWS", service="Tax", charge_category="Tax"))
        rows.append(
            line(
                month_start(month),
                "333.1",
                provider="Hetzner",
                service="Servers",
                charge_category="Usage",
                currency="EUR",
            )
        )
    return rows


def run_imports() -> list[str]:
    """What the worker would do."""
    run_due_imports()
    return [job.status for job in CostImport.objects.unscoped()]
