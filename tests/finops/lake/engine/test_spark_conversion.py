"""Converted cost on a real Spark Connect server (Sail): each line by the rate of its day, rounded once, equal to DuckDB's."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from hypothesis import HealthCheck, example, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from finops.lake.engine import conversion, engine
from finops.lake.engine.conversion import Conversion, DayRates, currency_scope, rates_table
from finops.lake.schema import Kind
from tests.cast import Cast
from tests.examples import examples
from tests.finops.lake.engine.test_spark import cluster, on_both, routes
from tests.finops.lake.facts import EVER, JANUARY, line, store

__all__ = ["cluster"]

pytestmark = pytest.mark.django_db

DAYS = [JANUARY + timedelta(days=number) for number in range(3)]
UNIT = Decimal("0.000000000000000001")

amounts = st.one_of(
    st.decimals(min_value="-9e8", max_value="9e8", places=18, allow_nan=False),
    st.integers(-(10**20), 10**20).map(lambda units: units * UNIT),
    # Products that end on a half of the last digit, and near it.
    st.integers(-(10**12), 10**12).map(lambda units: units * 5 * UNIT),
)
rates = st.one_of(
    st.decimals(min_value="0.00000000000001", max_value="99999", places=14, allow_nan=False),
    st.sampled_from([Decimal(text) for text in ("0.5", "1.5", "0.1", "0.00000000000005", "1.0000000005")]),
)
lines = st.tuples(st.sampled_from(DAYS), amounts, st.sampled_from(["EUR", "JPY", "USD", "KRW"]))


def converted_to_dollars(by_day: dict[tuple[str, date], Decimal]) -> Conversion:
    rows = sorted((currency, day, rate) for (currency, day), rate in by_day.items())
    table = rates_table([*rows, *(("USD", day, Decimal(1)) for day in DAYS)])
    return Conversion("USD", lambda _start, _end: DayRates(repr(rows), table))


def by_currency(cost: Any) -> Any:
    return cost.group_by(currency=cost.currency, of_bill=cost.own_currency, service=cost.service).agg(
        billed=cost.billed_cost.sum(),
        unit_price=cost.list_unit_price.max(),
        listed=cost.list_cost.sum(),
        credits=cost.billed_cost.sum(where=cost.billed_cost < 0),
        quantity=cost.consumed_quantity.sum(),
        lines=cost.count(),
    )


@pytest.mark.usefixtures("cluster")
@hypothesis_settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(15), deadline=None
)
@given(
    rows=st.lists(lines, min_size=1, max_size=30),
    by_day=st.dictionaries(st.tuples(st.sampled_from(["EUR", "JPY"]), st.sampled_from(DAYS)), rates),
)
@example(
    rows=[(DAYS[0], 3 * UNIT, "EUR"), (DAYS[0], -3 * UNIT, "EUR"), (DAYS[1], UNIT, "JPY")],
    by_day={("EUR", DAYS[0]): Decimal("0.5"), ("JPY", DAYS[1]): Decimal("0.49999999999999")},
)
def test_converted_sums_are_those_of_duckdb_to_the_last_digit(
    cast: Cast,
    settings: LazySettings,
    rows: list[tuple[date, Decimal, str]],
    by_day: dict[tuple[str, date], Decimal],
) -> None:
    store(
        cast.account,
        [line(day, cost, currency=currency, service="EC2", list_cost=-cost) for day, cost, currency in rows],
    )
    with currency_scope(converted_to_dollars(by_day)):
        answer = on_both(cast, by_currency, settings)
        total = engine.run(
            cast.account, Kind.COST, *EVER, lambda cost: cost.agg(total=cost.billed_cost.sum())
        )
    expected = sum(
        conversion.convert(cost, by_day[currency, day]) if (currency, day) in by_day else cost
        for day, cost, currency in rows
    )
    assert answer
    assert total.to_pylist() == [{"total": expected}]


@pytest.mark.usefixtures("cluster")
def test_converted_questions_go_to_the_cluster_where_their_products_fit(
    cast: Cast, monkeypatch: pytest.MonkeyPatch, settings: LazySettings
) -> None:
    store(cast.account, [line(DAYS[0], "123456789", currency="EUR")])
    route_log = routes(monkeypatch)
    for rate in ("999999.99999999999999", "9999999e-1"):
        with currency_scope(converted_to_dollars({("EUR", DAYS[0]): Decimal(rate)})):
            on_both(cast, by_currency, settings)
    store(cast.account, [line(DAYS[0], "1234567890", currency="EUR")])
    with currency_scope(converted_to_dollars({("EUR", DAYS[0]): Decimal("99999.5")})):
        on_both(cast, by_currency, settings)
    with currency_scope(converted_to_dollars({("EUR", DAYS[0]): Decimal("100000")})):
        engine.run(cast.account, Kind.COST, *EVER, by_currency)

    assert [route.engine for route in route_log if route.reason or route.engine == "spark"] == [
        "spark",
        "spark",
        "spark",
        "duckdb",
    ]
    assert route_log[-1].reason == "a sum could pass DECIMAL(38)"
