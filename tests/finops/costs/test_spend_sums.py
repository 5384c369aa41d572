"""Every amount of an answer equals what plain Python adds up, to the last digit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal, localcontext
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.costs.answers import SpendAnswer
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from tests.examples import examples
from tests.factories.costs import Line, add_up, cost, key_of, store_lines

START, END = date(2026, 1, 1), date(2026, 2, 28)
CATEGORIES = ("Usage", "Purchase", "Tax", "Credit", "Adjustment", None)
DIMENSIONS = ("service", "region", "account", "charge_category", "actor", "tag:Env", "tag:env", "resource")

amounts = st.decimals(min_value="-9e14", max_value="9e14", places=18, allow_nan=False)
lines = st.builds(
    lambda day, billed, effective, tags, **columns: cost(
        day, billed, **columns, effective_cost=effective, tags=tags
    ),
    st.dates(START, END),
    amounts,
    amounts,
    st.dictionaries(st.sampled_from(["Env", "env"]), st.sampled_from(["prod", "Prod", "dev"])),
    service=st.sampled_from(["EC2", "S3", "a'b", None]),
    region=st.sampled_from(["eu-1", "us-1", None]),
    account_id=st.sampled_from(["1", "2"]),
    resource_id=st.sampled_from(["vm-1", "vm-2", "vm-3", None]),
    charge_category=st.sampled_from(CATEGORIES),
    charge_class=st.sampled_from(["Correction", None]),
    charge_frequency=st.sampled_from(["One-Time", "Recurring", "Usage-Based", None]),
    currency=st.sampled_from(["USD", "EUR"]),
)
questions = st.builds(
    SpendQuery,
    start_date=st.dates(START, date(2026, 1, 31)),
    end_date=st.dates(date(2026, 2, 1), END),
    granularity=st.sampled_from(["none", "day", "week", "month"]),
    group_by=st.lists(st.sampled_from(DIMENSIONS), max_size=2, unique=True),
    basis=st.sampled_from(["billed", "amortized"]),
    charge_categories=st.lists(st.sampled_from(CATEGORIES[:-1]), unique=True),
    limit=st.integers(1, 4),
)
# Without shrinking: an example writes files, and shrinking one took five minutes.
PROPERTY = settings(
    max_examples=examples(40),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@PROPERTY
@given(rows=st.lists(lines, min_size=1, max_size=50), query=questions)
def test_every_amount_equals_a_plain_sum(
    acme: Account, source: CostSource, rows: list[Line], query: SpendQuery
) -> None:
    store_lines(acme, source, _both_months(rows))

    answer = query_spend(acme, query)

    plain = _Plain(_both_months(rows), query)
    assert {total.currency: total.amount for total in answer.totals} == plain.totals
    assert {total.currency: total.whole_amount for total in answer.totals} == plain.whole
    for total in answer.totals:
        assert exact([total.amount, total.left_out_amount]) == total.whole_amount
        assert exact(part.amount for part in total.left_out) == total.left_out_amount
        assert {part.part: part.amount for part in total.inside} == plain.inside(total.currency)
        _check_series(total.series, total.amount, plain.buckets(total.currency), query)
    if query.group_by:
        _check_rows(answer, plain, query)


def _check_rows(answer: SpendAnswer, plain: _Plain, query: SpendQuery) -> None:
    for total in answer.totals:
        rows = [row for row in answer.rows if row.currency == total.currency]
        listing = [row for row in rows if not row.other_groups]
        expected = plain.groups(total.currency)
        assert len(listing) == min(query.limit, len(expected))
        assert sum(row.other_groups for row in rows) == len(expected) - len(listing)
        assert exact(row.amount for row in rows) == total.amount
        for row in listing:
            assert row.amount == expected[tuple(row.group.values())]
        listed_keys = {tuple(row.group.values()) for row in listing}
        smallest = min((row.amount.copy_abs() for row in listing), default=Decimal(0))
        assert all(expected[key].copy_abs() <= smallest for key in expected.keys() - listed_keys)
        for row in rows:
            assert not row.series or exact(amount or 0 for amount in row.series.values()) == row.amount


def _check_series(
    series: dict[str, Decimal | None], amount: Decimal, expected: dict[str, Decimal], query: SpendQuery
) -> None:
    if query.granularity == "none":
        assert series == {}
        return
    assert {start: amount for start, amount in series.items() if amount} == {
        start: amount for start, amount in expected.items() if amount
    }
    assert exact(amount or 0 for amount in series.values()) == amount


def exact(amounts: Any) -> Decimal:
    with localcontext(prec=70):
        return sum(amounts, Decimal(0))


def _both_months(rows: list[Line]) -> list[Line]:
    """Both months have a line, so that `put` replaces what the example before left, and both spellings of the tag."""
    tags = {"Env": "x", "env": "x"}
    return [*rows, *(cost(day, 0, currency=rows[0]["currency"], tags=tags) for day in (START, END))]


class _Plain:
    """The same question, answered by loops over the lines."""

    def __init__(self, rows: list[Line], query: SpendQuery) -> None:
        self.query = query
        self.column = "billed_cost" if query.basis == "billed" else "effective_cost"
        assert query.start_date is not None
        assert query.end_date is not None
        self.all = [row for row in rows if query.start_date <= row["charge_date"] <= query.end_date]
        categories = set(query.charge_categories)
        every = not categories or categories == set(CATEGORIES[:-1])
        self.counted = [row for row in self.all if every or row["charge_category"] in categories]

    @property
    def whole(self) -> dict[str, Decimal]:
        return add_up(self.all, lambda row: row["currency"], column=self.column)

    @property
    def totals(self) -> dict[str, Decimal]:
        counted = add_up(self.counted, lambda row: row["currency"], column=self.column)
        return {currency: counted.get(currency, Decimal(0)) for currency in self.whole}

    def inside(self, currency: str) -> dict[str, Decimal]:
        sums = add_up(self._in(currency), self._part, column=self.column)
        names = ("credits", "refunds", "tax", "one_time_fees")
        return {name: sums.get(name, Decimal(0)) for name in names}

    def _part(self, row: Mapping[str, Any]) -> str:
        category, correction = row.get("charge_category"), row.get("charge_class") == "Correction"
        if category in ("Credit", "Tax"):
            return {"Credit": "credits", "Tax": "tax"}[category]
        if (category == "Adjustment" or correction) and row[self.column] < 0:
            return "refunds"
        return "one_time_fees" if row.get("charge_frequency") == "One-Time" else ""

    def groups(self, currency: str) -> dict[tuple[str, ...], Decimal]:
        return add_up(
            self._in(currency),
            lambda row: tuple(key_of(row, name) for name in self.query.group_by),
            column=self.column,
        )

    def buckets(self, currency: str) -> dict[str, Decimal]:
        return add_up(self._in(currency), lambda row: self._bucket(row["charge_date"]), column=self.column)

    def _bucket(self, day: date) -> str:
        if self.query.granularity == "month":
            return day.replace(day=1).isoformat()
        back = day.weekday() if self.query.granularity == "week" else 0
        return (day - timedelta(days=back)).isoformat()

    def _in(self, currency: str) -> list[Line]:
        return [row for row in self.counted if row["currency"] == currency]
