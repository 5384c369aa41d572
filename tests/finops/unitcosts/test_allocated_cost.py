"""Direct and allocated cost of customers: shared-cost splits on the customer key."""

from __future__ import annotations

import csv
from datetime import date
from decimal import Decimal, localcontext
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.allocation.models import SharedCostSplit
from finops.costs.models import CostSource
from finops.unitcosts.models import CustomerAlias
from finops.unitcosts.queries import query_unit_cost
from tests.cast import Cast, signed_in
from tests.examples import examples
from tests.factories.costs import store_lines
from tests.factories.unit_costs import add_data, by_customer, cost_line, usage_event

EVERY_CUSTOMER = {
    "name": "Cluster",
    "dimension": "tag:customer",
    "source_value": "(untagged)",
    "method": "usage",
    "every_customer": True,
    "usage_metric": "requests",
}


def split(account: Account, **changes: Any) -> None:
    SharedCostSplit.objects.create(account=account, **{**EVERY_CUSTOMER, **changes})


def rows_of(account: Account, **options: Any) -> dict[str, Any]:
    """Status, direct, allocated, cost and unit cost of each row of USD, by customer id or value."""
    answer: Any = query_unit_cost(account, by_customer(splits="after", **options))
    return {
        row.customer_id or "+".join(row.values) or row.status: (
            row.status,
            row.direct_cost,
            row.allocated_cost,
            row.cost,
            row.unit_cost,
        )
        for row in answer.rows
        if row.currency == "USD" and (row.cost or row.usage)
    }


def test_shared_cost_reaches_customers_by_what_they_used_each_day(acme: Account) -> None:
    lines = [
        cost_line(1, 40, "acme"),
        cost_line(1, 30),
        cost_line(2, 10),
        cost_line(3, 8),
        cost_line(1, 5, "Nobody"),
    ]
    add_data(
        acme, lines, [usage_event(1, "acme", 2), usage_event(1, "globex", 1), usage_event(2, "globex", 4)]
    )
    split(acme)

    assert rows_of(acme) == {
        "acme": ("matched", 40, 20, 60, 30),
        "globex": ("matched", 0, 20, 20, 4),
        "Nobody": ("unknown_customer", 5, 0, 5, None),
        "(untagged)": ("no_customer", 8, 0, 8, None),
    }
    answer: Any = query_unit_cost(acme, by_customer(splits="after"))
    assert (answer.totals[0].cost, answer.totals[0].unmatched_cost) == (93, 13)
    assert [each.name for each in answer.applied_splits] == ["Cluster"]
    assert any("usage of 'requests' on 2026-03-03" in warning for warning in answer.warnings)


def test_without_splits_nothing_is_allocated(acme: Account) -> None:
    add_data(acme, [cost_line(1, 40, "acme"), cost_line(1, 30)], [usage_event(1, "acme", 2)])
    split(acme)

    answer: Any = query_unit_cost(acme, by_customer())

    assert [(row.direct_cost, row.allocated_cost) for row in answer.rows if row.cost] == [(40, 0), (30, 0)]
    assert answer.applied_splits == []


def test_a_shared_value_that_moved_whole_is_no_row_any_more(acme: Account) -> None:
    add_data(acme, [cost_line(1, 40, "acme"), cost_line(1, 30, "cluster")], [usage_event(1, "acme", 2)])
    split(acme, source_value="cluster")

    assert rows_of(acme) == {"acme": ("matched", 40, 30, 70, 35)}


def test_an_alias_has_its_customers_direct_cost_and_the_customer_what_is_allocated(acme: Account) -> None:
    add_data(acme, [cost_line(1, 40, "ACME Inc"), cost_line(1, 30)], [usage_event(1, "acme", 2)])
    CustomerAlias.objects.create(account=acme, value="ACME Inc", customer_id="acme")
    split(acme)

    assert rows_of(acme) == {"acme": ("matched", 40, 30, 70, 35)}


def test_one_customer_of_many_keeps_its_part(acme: Account) -> None:
    add_data(
        acme,
        [cost_line(1, 40, "acme"), cost_line(1, 30)],
        [usage_event(1, "acme", 1), usage_event(1, "globex", 2)],
    )
    split(acme)

    assert rows_of(acme, customers=["globex"]) == {"globex": ("matched", 0, 20, 20, 10)}


def test_a_trend_is_after_splits_too(acme: Account) -> None:
    add_data(
        acme, [cost_line(1, 30), cost_line(2, 10)], [usage_event(1, "acme", 3), usage_event(2, "acme", 5)]
    )
    split(acme)

    answer: Any = query_unit_cost(acme, by_customer(splits="after", granularity="day"))

    (row,) = (row for row in answer.rows if row.customer_id == "acme")
    assert [row.series[f"2026-03-0{number}"] for number in (1, 2)] == [10, 2]


amounts = st.decimals(min_value="-1e9", max_value="1e9", places=18, allow_nan=False)
lines = st.builds(
    lambda number, amount, customer, currency: cost_line(number, amount, customer, currency=currency),
    st.integers(1, 4),
    amounts.map(str),
    st.sampled_from([None, None, "acme", "globex", "cluster", "nobody"]),
    st.sampled_from(["USD", "USD", "EUR"]),
)
PROPERTY = settings(
    max_examples=examples(20),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@PROPERTY
@given(rows=st.lists(lines, min_size=4, max_size=30), limit=st.integers(1, 5))
def test_customers_and_rest_add_up_to_the_whole(
    split_source: CostSource, rows: list[Any], limit: int
) -> None:
    store_lines(split_source.account, split_source, [*rows, cost_line(10, 0, "-", currency="USD")])

    answer = query_unit_cost(split_source.account, by_customer(splits="after", limit=limit))

    for total in answer.totals:
        with localcontext(prec=60):
            currency_rows = [row for row in answer.rows if row.currency == total.currency]
            assert all(row.direct_cost + row.allocated_cost == row.cost for row in currency_rows)
            assert sum((row.cost for row in currency_rows), Decimal(0)) == total.cost
            rows_of_currency = [row for row in rows if row["currency"] == total.currency]
            assert total.cost == sum((row["billed_cost"] for row in rows_of_currency), Decimal(0))


@pytest.fixture
def split_source(acme: Account) -> CostSource:
    """Two splits on the customer key, usage on two of four days, and a source whose lines each example replaces."""
    add_data(
        acme,
        [cost_line(1, 0)],
        [usage_event(1, "acme", 2), usage_event(1, "globex", "0.7"), usage_event(2, "initech", 3)],
    )
    split(acme)
    targets = [{"value": value, "percent": None} for value in ("acme", "globex", "nobody")]
    split(
        acme,
        name="Even",
        source_value="cluster",
        method="even",
        every_customer=False,
        usage_metric="",
        targets=targets,
        valid_from=date(2026, 3, 2),
    )
    return CostSource.objects.get()


def test_the_page_begins_with_what_is_allocated_and_shows_both(acme: Account, cast: Cast) -> None:
    add_data(acme, [cost_line(19, 40, "acme"), cost_line(19, 30)], [usage_event(19, "acme", 2)])
    client, url = signed_in(cast.viewer), "/a/acme/unit-economics/"
    assert ">Allocated</th>" not in client.get(url).content.decode()
    split(acme)

    page = client.get(url).content.decode()
    rows = csv.DictReader(
        b"".join(client.get(f"{url}?format=csv").streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    )

    assert ">Direct</th>" in page
    assert ">Allocated</th>" in page
    costs = {row["customer id"]: (float(row["direct cost"]), float(row["allocated cost"])) for row in rows}
    assert costs["acme"] == (40, 30)
