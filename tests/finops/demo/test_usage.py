"""The demo's usage: its generator, and loading it."""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from accounts.audit import Actor
from accounts.models import Account, AuditEntry
from accounts.scoping import account_scope
from finops.demo.company import CUSTOMER_MISSPELT, CUSTOMERS
from finops.demo.generate import MONTHS, first_day
from finops.demo.people import ensure_people
from finops.demo.usage import (
    ANOMALIES,
    METRICS,
    ONBOARDING,
    SOURCE_NAME,
    TRIAL,
    Event,
    events_on,
    load_usage,
    usage_source,
)
from finops.lake import queries
from finops.lake.engine import engine
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.unitcosts.models import CustomerAlias, CustomerKey
from ingestion.models import Customer, UsageMetric, UsageSource
from ingestion.queries import metered_events_by_month
from ingestion.services.keys import authenticate_usage_key
from tests.finops.demo.test_load_demo import handout, load
from tests.finops.lake import events as lake_events

ACTOR = Actor.command("load_demo")
FIRST, LAST = date(2026, 9, 20), date(2026, 11, 19)
BY_NAME = {metric.name: metric for metric in METRICS}


@pytest.fixture(autouse=True)
def own_var(settings: LazySettings, tmp_path: Path) -> Path:
    settings.VAR_DIR = tmp_path
    settings.LAKE_URL = str(tmp_path / "lake")
    return tmp_path


@pytest.fixture
def lumenly(db: None) -> Account:
    return ensure_people(ACTOR, None).account


def bring(account: Account, first: date = FIRST, last: date = LAST) -> int:
    with account_scope(account):
        return load_usage(account, ACTOR, first, last)


def generated_sums(first: date, last: date) -> dict[tuple[str, str], Decimal]:
    """Quantities by metric and customer, added up in Python."""
    sums: dict[tuple[str, str], Decimal] = defaultdict(Decimal)
    day = first
    while day <= last:
        for metric in METRICS:
            for event in events_on(metric, day):
                sums[metric.name, event.customer] += Decimal(event.quantity).scaleb(-3)
        day += timedelta(days=1)
    return sums


def stored_quantities(
    account: Account, first: date = FIRST, last: date = LAST
) -> dict[tuple[str, str], Decimal]:
    def usage_query(usage: Any) -> Any:
        return usage.group_by("metric", "customer_id").agg(quantity=usage.quantity.sum())

    rows = engine.run(account, Kind.USAGE, first, last, usage_query).to_pylist()
    return {(row["metric"], row["customer_id"]): row["quantity"] for row in rows}


def quantity(metric: str, day: date, customer: str) -> int:
    return sum(event.quantity for event in events_on(BY_NAME[metric], day) if event.customer == customer)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_day_is_the_same_each_time_it_is_made(name: str) -> None:
    def generate_events() -> list[Event]:
        return list(events_on(BY_NAME[name], LAST))

    assert generate_events() == generate_events()
    assert all(event.quantity > 0 for event in generate_events())
    assert all(0 <= event.second < 86_400 for event in generate_events())


def test_a_day_fits_into_one_push() -> None:
    assert 250 < sum(len(list(events_on(metric, LAST))) for metric in METRICS) <= 1_000


def test_a_seat_is_counted_once_a_day_for_each_customer_and_changes_with_the_month_only() -> None:
    seats = [event.customer for event in events_on(BY_NAME["seats"], LAST)]
    assert len(seats) == len(set(seats)) == 40
    october = {quantity("seats", date(2026, 10, number), "cust-001") for number in range(1, 32)}
    assert len(october) == 1
    assert quantity("seats", date(2026, 11, 1), "cust-001") > october.pop()


def test_usage_grows_and_rests_at_weekends() -> None:
    def of_week(monday: date) -> list[int]:
        return [quantity("requests", monday + timedelta(days=number), "cust-002") for number in range(7)]

    week, year_before = of_week(date(2026, 10, 5)), of_week(date(2025, 10, 6))
    assert max(week[5:]) < min(week[:5])
    assert sum(week) > 1.15 * sum(year_before)


@pytest.mark.parametrize("anomaly", ANOMALIES, ids=lambda one: one.name)
def test_a_planted_surprise_stands_out(anomaly: Any) -> None:
    day = date(2026, anomaly.months[-1], anomaly.day)
    before = quantity(anomaly.metric, day - timedelta(days=7), anomaly.customer)
    assert quantity(anomaly.metric, day, anomaly.customer) > 0.7 * anomaly.factor * before


def test_the_outage_of_the_eu_region_is_one_of_its_customers() -> None:
    outage, before = date(2026, 7, 22), date(2026, 7, 15)
    assert quantity("requests", outage, "cust-003") < 0.4 * quantity("requests", before, "cust-003")
    assert quantity("requests", outage, "cust-001") > 0.8 * quantity("requests", before, "cust-001")


def test_the_lake_holds_what_the_generator_made(lumenly: Account) -> None:
    start = time.perf_counter()
    count = bring(lumenly)
    seconds = time.perf_counter() - start
    assert stored_quantities(lumenly) == generated_sums(FIRST, LAST)
    data_range = queries.data_range(lumenly, Kind.USAGE)
    assert data_range is not None
    assert (data_range.first_day, data_range.last_day, data_range.rows) == (FIRST, LAST, count)
    live = LakeSegment.objects.unscoped().filter(kind=Kind.USAGE, account=lumenly, retired_at=None)
    assert sorted(segment.month for segment in live) == [date(2026, month, 1) for month in (9, 10, 11)]
    print(f"load_usage: {count:,} events in {seconds:.1f} s")  # noqa: T201 measured, not asserted: machines differ


def test_the_meter_of_each_month_is_what_the_lake_holds_of_it(lumenly: Account) -> None:
    count = bring(lumenly)
    bring(lumenly)
    live = LakeSegment.objects.unscoped().filter(kind=Kind.USAGE, account=lumenly, retired_at=None)
    metered = metered_events_by_month(lumenly)
    assert metered == {segment.month: segment.rows for segment in live}
    assert sum(metered.values()) == count


def test_customers_have_names_and_metrics_their_aggregation(lumenly: Account) -> None:
    bring(lumenly, LAST, LAST)
    with account_scope(lumenly):
        named = dict(Customer.objects.values_list("customer_id", "name"))
        ways = dict(UsageMetric.objects.values_list("name", "aggregation"))
    assert named == {each.id: each.name for each in (*CUSTOMERS, TRIAL)}
    assert ways == {metric.name: metric.aggregation for metric in METRICS}
    assert {ways["seats"], ways["requests"], ways["storage"]} == {"average_of_days", "sum", "last"}


def test_one_customer_has_no_usage_and_one_only_usage(lumenly: Account) -> None:
    bring(lumenly, LAST, LAST)
    using = {customer for _, customer in stored_quantities(lumenly)}
    assert ONBOARDING not in using
    assert TRIAL.id in using
    assert len(using) == 40


def test_a_second_load_adds_nothing(lumenly: Account) -> None:
    bring(lumenly)
    before = (
        list(LakeSegment.objects.unscoped().order_by("pk").values_list("pk", "retired_at")),
        AuditEntry.objects.unscoped().count(),
        Customer.objects.unscoped().count(),
    )
    assert bring(lumenly) == 0
    assert before == (
        list(LakeSegment.objects.unscoped().order_by("pk").values_list("pk", "retired_at")),
        AuditEntry.objects.unscoped().count(),
        Customer.objects.unscoped().count(),
    )


def test_a_later_load_adds_the_days_since_and_keeps_what_was_pushed(lumenly: Account) -> None:
    bring(lumenly, last=LAST - timedelta(days=2))
    with account_scope(lumenly):
        source = usage_source(lumenly, ACTOR)
    # Somebody tries the key: today's seats, and yesterday's, which the demo has not yet.
    pushed = [
        lake_events.Event(Decimal(5), datetime(2026, 11, number, 12, tzinfo=UTC), "mine", "seats")
        for number in (18, 19, 20)
    ]
    lake_events.push(lumenly, pushed, source_id=source.pk)
    lake_events.flush(lumenly, source_id=source.pk)
    expected = sum(
        len(list(events_on(metric, day))) for metric in METRICS for day in (LAST, LAST - timedelta(1))
    )
    assert bring(lumenly) == expected
    assert stored_quantities(lumenly) == {**generated_sums(FIRST, LAST), ("seats", "mine"): 10}


def test_a_day_that_is_missing_in_the_middle_is_filled(lumenly: Account) -> None:
    bring(lumenly, FIRST, date(2026, 9, 30))
    bring(lumenly, date(2026, 11, 1), LAST)
    bring(lumenly)
    assert stored_quantities(lumenly) == generated_sums(FIRST, LAST)


def test_a_changed_aggregation_and_a_changed_name_stay(lumenly: Account) -> None:
    bring(lumenly, LAST, LAST)
    UsageMetric.objects.unscoped().filter(name="seats").update(aggregation="max")
    Customer.objects.unscoped().filter(customer_id="cust-001").update(name="Halden")
    bring(lumenly)
    assert UsageMetric.objects.unscoped().get(name="seats").aggregation == "max"
    assert Customer.objects.unscoped().get(customer_id="cust-001").name == "Halden"


@pytest.mark.slow
@pytest.mark.django_db
def test_load_demo_brings_usage_its_key_and_the_customer_key(own_var: Path) -> None:
    output = load(months=2)
    account = Account.objects.get(slug="lumenly")
    first = date(2026, 10, 1)
    data_range = queries.data_range(account, Kind.USAGE)
    assert data_range is not None
    assert (data_range.first_day, data_range.last_day) == (first, LAST)
    assert f"{data_range.rows:,} usage events added" in output
    used = authenticate_usage_key(handout(own_var)["usage_key"])
    assert used is not None
    with account_scope(account):
        assert UsageSource.objects.get(pk=used.source_id).name == SOURCE_NAME
        assert CustomerKey.objects.get().dimension == "tag:customer"
        alias = CustomerAlias.objects.get()
        assert CUSTOMER_MISSPELT[alias.customer_id] == alias.value

    handout_bytes = (own_var / "demo.json").read_bytes()
    assert "0 cost lines imported, 0 usage events added" in load(months=2)
    assert (own_var / "demo.json").read_bytes() == handout_bytes


def test_thirteen_whole_months_and_this_one_are_loaded() -> None:
    assert first_day(date(2026, 11, 20), MONTHS) == date(2025, 10, 1)
