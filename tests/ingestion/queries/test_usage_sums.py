"""Every quantity of `read_usage` equals what plain Python computes from the events, to the last digit.

Some of them wait in the inbox, the others are in segments.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, localcontext
from itertools import product
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.lib.periods import DateRange
from ingestion.models import UsageMetric, UsageSource
from ingestion.queries import MetricQuery, UsageGroup, read_usage
from ingestion.queries.usage import read_daily_usage
from tests.examples import examples
from tests.factories.usage import (
    Event,
    add_metrics,
    append_to_inbox,
    empty_inbox,
    event,
    store_usage,
    usage_source,
)

START, END = date(2026, 1, 1), date(2026, 2, 28)
AGGREGATIONS = ("sum", "average_of_days", "last", "max")
BATCHES = (uuid.UUID(int=1), uuid.UUID(int=2**100))
MOMENTS = [datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=7 * step) for step in range(200)]

quantities = st.decimals(min_value="-1e19", max_value="1e19", places=12, allow_nan=False)
events = st.lists(
    st.builds(
        Event,
        at=st.sampled_from(MOMENTS),
        customer=st.sampled_from(["a", "B", "ü'雪", "(none)"]),
        quantity=quantities,
        metric=st.sampled_from(["requests", "seats"]),
        unit=st.sampled_from([None, "call", "seat"]),
        dimensions=st.dictionaries(
            st.sampled_from(["Region", "region"]), st.sampled_from(["eu", "EU", "us"])
        ),
        received=st.sampled_from(MOMENTS[:2]),
        batch=st.sampled_from(BATCHES),
    ),
    min_size=1,
    max_size=40,
)
filters = st.sampled_from([(), (("region", ("eu", "(none)")),), (("Region", ("us",)), ("region", ("eu",)))])
questions = st.builds(
    MetricQuery,
    metric=st.just("requests"),
    days=st.builds(DateRange, st.dates(START, date(2026, 1, 20)), st.dates(date(2026, 1, 21), END)),
    granularity=st.sampled_from(["none", "day", "week", "month"]),
    by=st.sampled_from(["", "customer", "dimension:region", "dimension:Region", "dimension:nobody"]),
    customers=st.sampled_from([(), ("a", "ü'雪")]),
    dimensions=filters,
    limit=st.sampled_from([None, 1, 2]),
)
# Without shrinking: an example writes files.
PROPERTY = settings(
    max_examples=examples(25),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def source(acme: Account) -> UsageSource:
    add_metrics(acme, [event(START, "a", 1), event(START, "a", 1, metric="seats")])
    return usage_source(acme)


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@PROPERTY
@given(found=events, query=questions, waiting=st.integers(0, 40))
def test_every_quantity_equals_a_plain_computation(
    acme: Account, source: UsageSource, aggregation: str, found: list[Event], query: MetricQuery, waiting: int
) -> None:
    UsageMetric.objects.filter(name="requests").update(aggregation=aggregation)
    rows = with_positions([*found, *(event(day, "a", 1, metric="seats") for day in (START, END))])
    empty_inbox()
    waiting = min(waiting, len(found))
    store_usage(acme, rows[waiting:], source=source)
    append_to_inbox(acme, rows[:waiting], source=source)

    answer = read_usage(acme, query)

    plain = Plain(rows, query, aggregation)
    assert answer.aggregation == aggregation
    assert answer.days_with_data == len({each.day for each in plain.metric})
    assert answer.total == plain.value(plain.counted)
    assert answer.buckets == plain.buckets(plain.counted)
    assert answer.units == sorted({each.unit for each in plain.counted if each.unit})
    if query.by:
        plain.check(answer.groups, answer.group_count)
    else:
        assert answer.groups == []


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
def test_usage_by_day_alone_is_that_of_the_whole_answer(
    acme: Account, source: UsageSource, aggregation: str
) -> None:
    UsageMetric.objects.filter(name="requests").update(aggregation=aggregation)
    # Around the ends of 64 bits, in units of 10^-12.
    whole = [
        "1",
        "-3",
        "0",
        "9223372",
        "-9223373",
        "18446744",
        f"{10**19}",
        f"-{10**19}",
        "7",
        "8",
        "9",
        "-10",
    ]
    daily = [
        event(START + timedelta(days=place % 5), customer, f"{whole[place]}.036854775808", unit=unit)
        for place, (customer, unit) in enumerate(product(["a", "B", "ü'雪"], ["call", None, "call", "seat"]))
    ]
    store_usage(acme, with_positions(daily), source=source)
    metric_query = MetricQuery("requests", DateRange(START, END), "day", "customer", ("a", "ü'雪"))

    rows = list(read_daily_usage(acme, UsageMetric.objects.get(name="requests"), metric_query))

    groups = read_usage(acme, metric_query).groups
    assert sorted(rows) == sorted(
        (group.value, day, int(quantity.scaleb(12)))
        for group in groups
        for day, quantity in group.buckets.items()
    )
    assert {group.value for group in groups} == {"a", "ü'雪"}


def with_positions(rows: Sequence[Event]) -> list[Event]:
    """With a position each, so that (batch, position) names one."""
    return [replace(each, position=place) for place, each in enumerate(rows)]


class Plain:
    """The same question, answered by loops over the events."""

    def __init__(self, rows: Sequence[Event], metric_query: MetricQuery, aggregation: str) -> None:
        self.asked, self.aggregation = metric_query, aggregation
        days = metric_query.days
        self.metric = [
            each for each in rows if each.metric == metric_query.metric and days.start <= each.day <= days.end
        ]
        self.counted = [each for each in self.metric if self._passes(each)]

    def _passes(self, one: Event) -> bool:
        if self.asked.customers and one.customer not in self.asked.customers:
            return False
        return all(
            one.dimensions.get(key, "(none)").lower() in values for key, values in self.asked.dimensions
        )

    def check(self, groups: Sequence[UsageGroup], count: int) -> None:
        expected = self._by(self.counted, self._group)
        values = {name: self.value(rows) or Decimal(0) for name, rows in expected.items()}
        listing = {group.value: group for group in groups if group.value is not None}
        assert count == len(expected)
        assert len(listing) == (
            len(expected) if self.asked.limit is None else min(self.asked.limit, len(expected))
        )
        for name, group in listing.items():
            self._check_group(group, expected[name])
        unlisted = [each for each in self.counted if self._group(each) not in listing]
        smallest = min((abs(values[name]) for name in listing), default=Decimal(0))
        assert all(abs(values[self._group(each)]) <= smallest for each in unlisted)
        rest_groups = [group for group in groups if group.value is None]
        assert len(rest_groups) == bool(unlisted)
        for group in rest_groups:
            self._check_group(group, unlisted)

    def _check_group(self, group: UsageGroup, rows: Sequence[Event]) -> None:
        assert group.quantity == self.value(rows)
        assert group.days_with_data == len({each.day for each in rows})
        assert group.buckets == self.buckets(rows)

    def buckets(self, rows: Sequence[Event]) -> dict[date, Decimal | None]:
        if self.asked.granularity == "none":
            return {}
        return {
            start: self.value(bucket_rows, start)
            for start, bucket_rows in self._by(rows, self._bucket).items()
        }

    def value(self, rows: Sequence[Event], bucket: date | None = None) -> Decimal | None:
        if not rows:
            return None
        with localcontext(prec=70):
            if self.aggregation == "sum":
                return sum((each.quantity for each in rows), Decimal(0))
            if self.aggregation in ("last", "max"):
                return sum(map(self._of_customer, self._by(rows, _customer).values()), Decimal(0))
            total = sum((each.quantity for each in rows), Decimal(0))
        days = {each.day for each in self.metric if bucket is None or self._bucket(each) == bucket}
        return Context(prec=38).divide(total, Decimal(len(days)))

    def _of_customer(self, rows: Sequence[Event]) -> Decimal:
        if self.aggregation == "max":
            return max(each.quantity for each in rows)
        return max(rows, key=lambda one: (one.at, one.received, str(one.batch), one.position)).quantity

    def _group(self, one: Event) -> str:
        if self.asked.by == "customer":
            return one.customer
        return one.dimensions.get(self.asked.by.removeprefix("dimension:"), "(none)")

    def _bucket(self, one: Event) -> date:
        if self.asked.granularity == "month":
            return one.day.replace(day=1)
        return one.day - timedelta(days=one.day.weekday() if self.asked.granularity == "week" else 0)

    @staticmethod
    def _by(rows: Sequence[Event], key: Callable[[Event], Any]) -> dict[Any, list[Event]]:
        rows_by_key: dict[Any, list[Event]] = defaultdict(list)
        for each in rows:
            rows_by_key[key(each)].append(each)
        return dict(rows_by_key)


def _customer(one: Event) -> str:
    return one.customer
