"""Every cost, usage and unit cost equals what plain Python computes from the rows."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.costs.models import CostSource
from finops.unitcosts.answers import NO_COST, NO_CUSTOMER, UNKNOWN_CUSTOMER, UnitCostAnswer, UnitCostRow
from finops.unitcosts.models import CustomerAlias, CustomerKey
from finops.unitcosts.queries import query_unit_cost
from finops.unitcosts.unit_cost_query import UnitCostQuery
from ingestion.models import UsageSource
from tests.examples import examples
from tests.factories.costs import add_source, cost, store_lines
from tests.factories.usage import BATCH, Event, add_metrics, store_usage, usage_source
from tests.finops.unitcosts.reference_model import ReferenceAccount, costs, is_close, usage

START, END = date(2026, 1, 20), date(2026, 3, 10)
ALIASES = {"Globex Inc": "globex", "acme-old": "acme"}
VALUES = ["acme", "Acme", "globex", "Globex Inc", "acme-old", "nobody", None]
BUCKETS = {
    "month": lambda day: day.replace(day=1),
    "week": lambda day: day - timedelta(days=day.weekday()),
}

days = st.dates(date(2026, 1, 10), date(2026, 3, 20))
amounts = st.decimals(-1_000, 1_000, places=12, allow_nan=False)
lines = st.builds(
    lambda day, amount, value, currency, category: cost(
        day,
        amount,
        tags={} if value is None else {"customer": value},
        currency=currency,
        charge_category=category,
    ),
    days,
    amounts,
    st.sampled_from(VALUES),
    st.sampled_from(["USD", "USD", "EUR"]),
    st.sampled_from(["Usage", "Credit"]),
)
events = st.lists(
    st.tuples(
        days,
        st.sampled_from(["acme", "globex", "initech", "Acme"]),
        st.decimals(-5, 500, places=6),
        st.integers(0, 23),
    ),
    max_size=25,
)


def events_of(event_rows: list[tuple[date, str, Decimal, int]]) -> list[Event]:
    return [
        Event(
            datetime(day.year, day.month, day.day, hour, tzinfo=UTC),
            customer,
            quantity,
            batch=BATCH,
            position=place,
        )
        for place, (day, customer, quantity, hour) in enumerate(event_rows)
    ]


@pytest.fixture
def sources(acme: Account) -> tuple[CostSource, UsageSource]:
    CustomerKey.objects.create(account=acme, dimension="tag:customer")
    for value, customer_id in ALIASES.items():
        CustomerAlias.objects.create(account=acme, value=value, customer_id=customer_id)
    # There is always a line with the tag, and one outside the asked days.
    return add_source(acme, [cost(date(2025, 12, 1), 1, tags={"customer": "x"})]), usage_source(acme)


def check(answer: UnitCostAnswer, reference: ReferenceAccount) -> None:
    spent, used = costs(reference), usage(reference)
    everything = sum(used.values(), Fraction(0)) if used else None
    for total in answer.totals:
        assert total.cost == sum(
            (Fraction(v) for k, v in spent.items() if k[0] == total.currency), Fraction(0)
        )
        check_quotient(total.cost, total.usage, total.unit_cost, everything)
        rows = [row for row in answer.rows if row.currency == total.currency]
        assert sum(Fraction(row.cost) for row in rows) == Fraction(total.cost)
    for row in answer.rows:
        check_row(row, spent, used)
    assert len(answer.rows) == len({(row.currency, owner(row)) for row in answer.rows})
    by_customer = {
        row.customer_id: row.usage for row in answer.rows if row.customer_id and row.usage is not None
    }
    if everything is not None:
        assert near_sum(list(by_customer.values()), everything)


def near_sum(actual: list[Decimal | None], expected: Fraction) -> bool:
    total = sum((Fraction(each) for each in actual if each is not None), Fraction(0))
    return abs(total - expected) < Fraction(1, 10**25)


def owner(row: UnitCostRow) -> str:
    if row.status == NO_CUSTOMER:
        return "?"
    return f"?{row.values[0]}" if row.status == UNKNOWN_CUSTOMER else row.customer_id or ""


def check_row(
    row: UnitCostRow, spent: dict[tuple[str, str, date], Decimal], used: dict[tuple[str, date], Fraction]
) -> None:
    assert (
        row.direct_cost + row.allocated_cost == row.cost == spent.get((row.currency, owner(row), date.min), 0)
    )
    assert bool(row.reason) == (row.unit_cost is None)
    usage_of_customer = used.get((row.customer_id or "", date.min)) if row.customer_id else None
    if row.status == NO_COST:
        assert row.unit_cost is None
        assert not any(key[1] == row.customer_id for key in spent)
    else:
        check_quotient(row.cost, row.usage, row.unit_cost, usage_of_customer)


def check_quotient(
    spent: Decimal, actual: Decimal | None, unit_cost: Decimal | None, used: Fraction | None
) -> None:
    assert (actual is None) == (used is None)
    if used is None:
        assert unit_cost is None
        return
    assert is_close(actual, used)
    if used > 0:
        assert is_close(unit_cost, Fraction(spent) / used)
    else:
        assert unit_cost is None


@pytest.mark.parametrize("aggregation", ["sum", "average_of_days", "last", "max"])
@given(lines=st.lists(lines, max_size=25), found=events, granularity=st.sampled_from(["month", "week"]))
@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_both_modes_equal_plain_sums(
    acme: Account,
    sources: tuple[CostSource, UsageSource],
    aggregation: str,
    lines: list[dict[str, object]],
    found: list[tuple[date, str, Decimal, int]],
    granularity: str,
) -> None:
    bill, backend = sources
    pushed = events_of(found)
    nothing = [cost(date(2026, month, 20), 0, currency="ZZZ") for month in (1, 2, 3)]
    store_lines(acme, bill, [*lines, *nothing])
    unasked = [
        Event(datetime(2026, month, 1, tzinfo=UTC), "initech", Decimal(1), metric="other")
        for month in (1, 2, 3)
    ]
    store_usage(acme, [*pushed, *unasked], source=backend)
    add_metrics(
        acme,
        [
            Event(datetime(2026, 1, 1, tzinfo=UTC), each, Decimal(1))
            for each in ("acme", "globex", "Acme", "initech")
        ],
        requests=aggregation,
    )
    reference = ReferenceAccount(
        [*lines, *nothing],
        pushed,
        START,
        END,
        aggregation=aggregation,
        aliases=ALIASES,
        known=frozenset(["acme", "globex", "Acme", "initech"]),
    )
    fields = {"usage_metric": "requests", "start_date": START, "end_date": END, "granularity": granularity}

    each = query_unit_cost(acme, UnitCostQuery(**fields, mode="per_customer", limit=100))  # type: ignore[arg-type]
    total = query_unit_cost(acme, UnitCostQuery(**fields))  # type: ignore[arg-type]

    check(each, reference)
    assert [(t.currency, t.cost, t.usage, t.unit_cost) for t in each.totals] == [
        (t.currency, t.cost, t.usage, t.unit_cost) for t in total.totals
    ]
    check_buckets(each, reference, granularity)
    assert [t.buckets for t in each.totals] == [t.buckets for t in total.totals]


def check_buckets(answer: UnitCostAnswer, reference: ReferenceAccount, granularity: str) -> None:
    bucket = BUCKETS[granularity]
    spent, used = costs(reference, bucket), usage(reference, bucket)
    for total in answer.totals:
        for each in total.buckets:
            amounts_of_bucket = [
                v for k, v in spent.items() if (k[0], k[2]) == (total.currency, each.start_date)
            ]
            quantities = [v for k, v in used.items() if k[1] == each.start_date]
            assert each.cost is not None
            assert Fraction(each.cost) == sum(map(Fraction, amounts_of_bucket), Fraction(0))
            check_quotient(
                each.cost, each.usage, each.unit_cost, sum(quantities, Fraction(0)) if quantities else None
            )
