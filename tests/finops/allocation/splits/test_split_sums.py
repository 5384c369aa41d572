"""With any splits the parts add up to the whole, to the last digit, and are what plain fractions say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.allocation.models import SharedCostSplit
from finops.costs.answers import SpendAnswer
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.spend_query import Filter, SpendQuery
from finops.lib.errors import UserError
from tests.examples import examples
from tests.factories.costs import Line, add_source, cost, key_of, store_lines
from tests.factories.usage import add_usage, event
from tests.finops.allocation.splits.reference_model import Plain, PlainSplit, Usage

START, END = date(2026, 2, 27), date(2026, 3, 2)
DAYS = [START + timedelta(days=number) for number in range((END - START).days + 1)]
CATEGORIES = ("Usage", "Tax", "Credit")
SPLIT_ON = ("tag:app", "tag:team")
SOURCES = ("shared", "base", "(untagged)")
TARGETS = ("a", "b", "c", "never seen")
CLOSE = Fraction(1, 10**14)
"""Each sum of a day is cut to 18 places; an example has some hundred of them."""

USED: Usage = {
    ("requests", DAYS[0]): {"a": Decimal(1), "b": Decimal("2.5")},
    ("requests", DAYS[1]): {"a": Decimal(-3), "c": Decimal(7)},
    ("requests", DAYS[3]): {"b": Decimal("0.000000000001"), "base": Decimal(4), "new": Decimal(5)},
    ("requests", DAYS[2]): {"a": Decimal(-1)},
}

amounts = st.decimals(min_value="-9e9", max_value="9e9", places=18, allow_nan=False)
lines = st.builds(
    lambda day, billed, effective, tags, **columns: cost(
        day, billed, **columns, effective_cost=effective, tags=tags
    ),
    st.sampled_from(DAYS),
    amounts,
    amounts,
    st.fixed_dictionaries(
        {},
        optional={
            "app": st.sampled_from(["shared", "shared", "base", *TARGETS[:3]]),
            "team": st.sampled_from(["shared", "base", *TARGETS[:3]]),
        },
    ),
    service=st.sampled_from(["EC2", "S3"]),
    charge_category=st.sampled_from(CATEGORIES),
    currency=st.sampled_from(["USD", "USD", "EUR"]),
)


@st.composite
def splits(draw: st.DrawFn) -> PlainSplit:
    method = draw(st.sampled_from(["even", "proportional", "fixed", "usage"]))
    names = draw(st.lists(st.sampled_from(TARGETS), min_size=1, max_size=4, unique=True))
    every = method == "usage" and draw(st.booleans())
    percents = _percents(draw, len(names)) if method == "fixed" else [None] * len(names)
    return PlainSplit(
        dimension=draw(st.sampled_from(SPLIT_ON)),
        source=draw(st.sampled_from(SOURCES)),
        method=method,
        targets=() if every else tuple(zip(names, percents, strict=True)),
        metric="requests" if method == "usage" else "",
        valid_from=draw(st.sampled_from([date.min, DAYS[1]])),
        valid_to=draw(st.sampled_from([date.max, DAYS[2]])),
    )


def _percents(draw: st.DrawFn, count: int) -> list[Decimal]:
    parts = draw(st.lists(st.integers(0, 30_000_000), min_size=count - 1, max_size=count - 1))
    return [*(Decimal(part).scaleb(-6) for part in parts), 100 - Decimal(sum(parts)).scaleb(-6)]


filters = st.one_of(
    st.builds(
        Filter,
        dimension=st.sampled_from(["tag:app", "tag:team", "service"]),
        op=st.sampled_from(["in", "not_in", "contains"]),
        values=st.lists(
            st.sampled_from(["A", "shared", "base", "ec2", "never seen"]), min_size=1, unique=True
        ),
    ),
    st.builds(Filter, dimension=st.sampled_from(SPLIT_ON), op=st.just("absent")),
)
GROUPS: list[list[str]] = [
    ["tag:app"],
    ["tag:app", "service"],
    ["tag:team", "tag:app"],
    ["service"],
    [],
]
questions = st.builds(
    SpendQuery,
    start_date=st.sampled_from(DAYS[:2]),
    end_date=st.sampled_from(DAYS[2:]),
    granularity=st.sampled_from(["none", "day", "month"]),
    group_by=st.sampled_from(GROUPS),
    filters=st.one_of(st.just([]), st.lists(filters, max_size=2)),
    basis=st.sampled_from(["billed", "amortized"]),
    charge_categories=st.lists(st.sampled_from(CATEGORIES), unique=True),
    limit=st.integers(1, 8),
    splits=st.just("after"),
)
PROPERTY = settings(
    max_examples=examples(40),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
def source(acme: Account) -> CostSource:
    events = [
        event(day, customer, quantity, metric=metric)
        for (metric, day), used in USED.items()
        for customer, quantity in used.items()
    ]
    add_usage(acme, events)
    return add_source(acme, [])


@PROPERTY
@given(
    rows=st.lists(lines, min_size=15, max_size=40),
    split=st.lists(splits(), min_size=2, max_size=5, unique_by=lambda each: (each.dimension, each.source)),
    query=questions,
)
def test_the_parts_add_up_to_the_whole_and_equal_plain_fractions(
    acme: Account, source: CostSource, rows: list[Line], split: list[PlainSplit], query: SpendQuery
) -> None:
    rows = _every_month(rows)
    store_lines(acme, source, rows)
    _keep(acme, split)

    model = _Model(rows, split, query)
    answer = _answer_or_refusal(acme, query)
    if isinstance(answer, UserError):
        assert "filters: no cost has" in answer.message
        assert not any(model.totals().values())
        return

    amounts_by_currency = {total.currency: total.amount for total in answer.totals}
    assert {name for name, amount in model.totals().items() if amount} <= set(amounts_by_currency)
    assert all(_is_close(amount, model.totals().get(name)) for name, amount in amounts_by_currency.items())
    if not any(item.dimension in SPLIT_ON for item in query.filters):
        assert amounts_by_currency == model.total_without_splits(), "no digit is lost"
    _check_rows(answer, model, query)


def _answer_or_refusal(account: Account, query: SpendQuery) -> SpendAnswer | UserError:
    try:
        return query_spend(account, query)
    except UserError as error:
        return error


def _check_rows(answer: SpendAnswer, model: _Model, query: SpendQuery) -> None:
    for total in answer.totals:
        series = [amount or 0 for amount in total.series.values()]
        assert not series or _exact(series) == total.amount
        assert _exact([total.amount, total.left_out_amount]) == total.whole_amount
        rows = [row for row in answer.rows if row.currency == total.currency]
        if not query.group_by:
            continue
        assert _exact([row.amount for row in rows]) == total.amount
        expected = model.groups(total.currency)
        listing = {tuple(row.group.values()): row for row in rows if not row.other_groups}
        for key, row in listing.items():
            assert _is_close(row.amount, expected.get(key))
            assert not row.series or _exact([amount or 0 for amount in row.series.values()]) == row.amount
        smallest = min((abs(Fraction(row.amount)) for row in listing.values()), default=Fraction(0))
        assert all(abs(amount) <= smallest + CLOSE for key, amount in expected.items() if key not in listing)


def _is_close(actual: Decimal, expected: Fraction | None) -> bool:
    return abs(Fraction(actual) - (expected or 0)) < CLOSE


def _exact(amounts: Any) -> Decimal:
    with localcontext(prec=70):
        return sum(amounts, Decimal(0))


def _every_month(rows: list[Line]) -> list[Line]:
    """Both months have a line, so that `put` replaces what the example before left."""
    tags = {"app": "x", "team": "x"}
    return [*rows, *(cost(day, 0, currency=rows[0]["currency"], tags=tags) for day in (START, END))]


def _keep(account: Account, split: list[PlainSplit]) -> None:
    SharedCostSplit.objects.all().delete()
    for number, each in enumerate(split):
        SharedCostSplit.objects.create(
            account=account,
            name=f"Split {number}",
            dimension=each.dimension,
            source_value=each.source,
            method=each.method,
            targets=[
                {"value": name, "percent": None if percent is None else str(percent)}
                for name, percent in each.targets
            ],
            every_customer=each.method == "usage" and not each.targets,
            usage_metric=each.metric,
            valid_from=None if each.valid_from == date.min else each.valid_from,
            valid_to=None if each.valid_to == date.max else each.valid_to,
        )


class _Model:
    """The same question, answered by loops over the lines."""

    def __init__(self, rows: list[Line], split: list[PlainSplit], query: SpendQuery) -> None:
        assert query.start_date is not None
        assert query.end_date is not None
        self.query = query
        rows_in_period = [row for row in rows if query.start_date <= row["charge_date"] <= query.end_date]
        self.plain = Plain(
            rows_in_period,
            split,
            USED,
            "billed_cost" if query.basis == "billed" else "effective_cost",
            tuple(query.charge_categories),
        )
        used = [*query.group_by, *(item.dimension for item in query.filters)]
        self.dimensions = list(dict.fromkeys([*query.group_by, *sorted(used)]))

    def total_without_splits(self) -> dict[str, Decimal]:
        """What passes the filters, without any splits, of each currency that has lines."""
        sums: dict[str, Decimal] = {}
        with localcontext(prec=70):
            for row in self.plain.lines:
                values = {name: key_of(row, name) for name in self.dimensions}
                if self._matches_filters(values):
                    amount = row[self.plain.column] if self.plain.counts(row) else Decimal(0)
                    sums[row["currency"]] = sums.get(row["currency"], Decimal(0)) + amount
        return sums

    def totals(self) -> dict[str, Fraction]:
        return self.plain.after(
            self.dimensions, self._matches_filters, lambda line, _values: line["currency"]
        )

    def groups(self, currency: str) -> dict[tuple[str, ...], Fraction]:
        sums = self.plain.after(
            self.dimensions,
            self._matches_filters,
            lambda line, values: (line["currency"], *(values[name] for name in self.query.group_by)),
        )
        return {key[1:]: amount for key, amount in sums.items() if key[0] == currency}

    def _matches_filters(self, values: Mapping[str, str]) -> bool:
        return all(_matches(item, values[item.dimension]) for item in self.query.filters)


def _matches(item: Filter, value: str) -> bool:
    text = None if value == "(untagged)" else value.lower()
    values = [each.lower() for each in item.values]
    if item.op == "absent":
        return text is None
    if item.op == "contains":
        return text is not None and any(each in text for each in values)
    return (text in values) == (item.op == "in")
