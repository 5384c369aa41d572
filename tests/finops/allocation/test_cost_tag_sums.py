"""Any rules: each line's value is that of a plain first match, and the values add up to the total."""

from __future__ import annotations

import os
from datetime import date
from decimal import Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tags import preview
from finops.allocation.rules import CostTagDraft, read_rules, write_rules
from finops.costs.models import CostSource
from finops.costs.queries import query_spend
from finops.costs.queries.cost_sums import read_costs
from finops.costs.spend_query import Filter, SpendQuery
from tests.factories.costs import Line, add_up, cost, store_lines
from tests.finops.allocation.plain_rules import Plain

START, END = date(2026, 3, 1), date(2026, 3, 19)
MARCH: dict[str, Any] = {"start_date": START, "end_date": END}
TEXTS = ("Prod", "prod", " PROD_x ", "dev", "a.b", "Ünit", "…", "x y", "")
ENV = st.dictionaries(st.sampled_from(["env", "Team"]), st.sampled_from(TEXTS))
VALUES = (
    "prod",
    "PROD",
    "dev",
    "ünit",
    "s3",
    "ec2",
    "1",
    "Alpha",
    "o",
    "x",
    "One",
    "Two",
    "'; --",
    "%",
    "(none)",
    "(untagged)",
)

lines = st.builds(
    lambda day, amount, tags, **columns: cost(day, amount, tags=tags, **columns),
    st.dates(START, END),
    st.decimals(min_value="-9e14", max_value="9e14", places=18, allow_nan=False),
    ENV,
    service=st.sampled_from(["EC2", "S3", "prod", None]),
    account_id=st.sampled_from(["1", "12", None]),
    account_name=st.sampled_from(["Alpha", "prod", None]),
    resource_id=st.sampled_from(["vm-1", "Dev", None]),
    actor=st.sampled_from(["dev", None]),
    currency=st.sampled_from(["USD", "EUR"]),
)


def single_tests(dimensions: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    ops = st.sampled_from(
        ["in", "in", "in", "not_in", "contains", "not_contains", "starts_with", "ends_with"]
    )
    values = st.lists(st.sampled_from(VALUES), min_size=1, max_size=3, unique_by=str.lower)
    named = st.sampled_from(dimensions)
    return st.one_of(
        st.fixed_dictionaries({"dimension": named, "op": ops, "values": values}),
        st.fixed_dictionaries({"dimension": named, "op": st.just("absent")}),
    )


def conditions(dimensions: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    return st.recursive(
        single_tests(dimensions),
        lambda inner: st.one_of(
            st.fixed_dictionaries({"all": st.lists(inner, min_size=1, max_size=3)}),
            st.fixed_dictionaries({"any": st.lists(inner, min_size=1, max_size=3)}),
            st.fixed_dictionaries({"not": inner}),
        ),
        max_leaves=5,
    )


def rules(dimensions: tuple[str, ...]) -> st.SearchStrategy[list[dict[str, Any]]]:
    days = {"valid_from": st.just("2026-03-05"), "valid_to": st.sampled_from(["2026-03-05", "2026-03-12"])}
    steps = st.lists(
        st.sampled_from(["trim", "lower", "upper", "capitalise", "dashes", "alphanumeric"]),
        max_size=3,
        unique=True,
    )
    copy = st.fixed_dictionaries(
        {"keys": st.lists(st.sampled_from(["env", "Team"]), min_size=1, max_size=2, unique=True)},
        optional={"normalise": steps, "map": st.just({"PROD": "Production", "dev": "One"})},
    )
    sets = st.fixed_dictionaries(
        {"when": conditions(dimensions), "value": st.sampled_from(["One", "Two", "Drei", "o'four"])},
        optional=days,
    )
    copies = st.fixed_dictionaries({"copy": copy}, optional={"when": conditions(dimensions), **days})
    return st.lists(st.one_of(sets, sets, copies), max_size=6)


pytestmark = pytest.mark.soak

PLAIN_DIMENSIONS = ("service", "account", "resource", "actor", "tag:env", "tag:Team")
SOAK = bool(os.environ.get("SOAK"))
# Without shrinking: an example writes files.
PROPERTY = settings(
    max_examples=2_000 if SOAK else 10,
    derandomize=not SOAK,  # the suite is the same every time; the soak explores
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.slow
@PROPERTY
@given(
    rows=st.lists(lines, min_size=1, max_size=40),
    inner=rules(PLAIN_DIMENSIONS),
    outer=rules((*PLAIN_DIMENSIONS, "cost_tag:inner")),
    defaults=st.tuples(st.sampled_from(["", "Rest"]), st.sampled_from(["", "One"])),
)
def test_every_line_has_the_value_of_the_first_rule_and_values_add_up(
    acme: Account,
    source: CostSource,
    rows: list[Line],
    inner: list[dict[str, Any]],
    outer: list[dict[str, Any]],
    defaults: tuple[str, str],
) -> None:
    rows = [*rows, cost(START, 0, tags={"env": "dev", "Team": "x"})]
    store_lines(acme, source, rows)
    save(acme, "inner", inner, defaults[0])
    save(acme, "outer", outer, defaults[1])
    plain = Plain({"inner": (inner, defaults[0]), "outer": (outer, defaults[1])})

    for key in ("inner", "outer"):
        result = read_costs(acme, SpendQuery(**MARCH, group_by=[f"cost_tag:{key}"], granularity="day"))
        expected = add_up(
            rows,
            partial(_place, plain, key),
        )
        assert {(part.keys[0], part.currency, part.bucket): part.amount for part in result.sums} == expected
        _check_answer(acme, key, rows)
    _check_filter(acme, plain, rows)
    _check_preview(acme, plain, outer, defaults[1], rows)


def save(account: Account, key: str, documents: list[dict[str, Any]], default: str) -> None:
    CostTag.objects.update_or_create(
        account=account,
        key=key,
        defaults={"rules": write_rules(read_rules(documents)), "default_value": default},
    )


def _place(plain: Plain, key: str, row: Line) -> tuple[str, str, date]:
    return plain.value(key, row) or "(untagged)", row["currency"], row["charge_date"]


def _check_answer(acme: Account, key: str, rows: list[Line]) -> None:
    """The values, those in `other` with them, add up to the whole in each currency."""
    answer = query_spend(acme, SpendQuery(**MARCH, group_by=[f"cost_tag:{key}"], limit=2))
    whole = add_up(rows, lambda row: row["currency"])
    assert {total.currency: total.amount for total in answer.totals} == whole
    parts = [{"currency": row.currency, "billed_cost": row.amount} for row in answer.rows]
    assert add_up(parts, lambda row: row["currency"]) == whole


def _check_filter(acme: Account, plain: Plain, rows: list[Line]) -> None:
    value_filter = Filter(dimension="cost_tag:outer", op="not_in", values=["one"])
    answer = query_spend(acme, SpendQuery(**MARCH, filters=[value_filter]))
    remaining = [row for row in rows if plain.value("outer", row) not in ("One", "one", "ONE")]
    assert {total.currency: total.amount for total in answer.totals} == add_up(
        remaining, lambda row: row["currency"]
    )


def _check_preview(
    acme: Account, plain: Plain, documents: list[dict[str, Any]], default: str, rows: list[Line]
) -> None:
    draft = CostTagDraft(key="outer", rules=read_rules(documents), default_value=default)
    result = preview(acme, draft, days=60)
    expected = add_up(rows, lambda row: (plain.number("outer", row), row["currency"]))
    caught = {0: result.rest, **{rule.number: rule.amounts for rule in result.rules}}
    assert {
        (number, part.currency): part.amount for number, parts in caught.items() for part in parts
    } == expected
    assert {part.currency: part.amount for part in result.totals} == add_up(rows, lambda row: row["currency"])
    for rule in result.rules:
        single_rule = Plain({**plain.tags, "outer": ([documents[rule.number - 1]], "")})
        takers = [plain.number("outer", row) for row in rows if single_rule.number("outer", row)]
        assert rule.lines == takers.count(rule.number)
        if not rule.lines:
            assert (rule.matching_lines, set(rule.shadowed_by)) == (len(takers), set(takers))
    assert all(isinstance(part.amount, Decimal) for part in result.rest)
