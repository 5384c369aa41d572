"""Any bills: savings stay within the cost of their lines, and a line counts once."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from finops.insights.savings.candidates import (
    PRECEDENCE,
    LineKey,
    Piece,
    SavingCandidate,
    SavingScope,
    deduplicate_by_precedence,
)
from finops.insights.savings.resource_rules import ResourceSum, months_before, successors, weekends_off
from finops.lib.money import exact_sum
from finops.lib.periods import DateRange
from tests.examples import examples
from tests.finops.insights.savings.bills import FIRST, LAST

WINDOW = DateRange(FIRST, LAST)
AMOUNTS = st.decimals("0.000001", "100000", places=6)
USAGE_TYPES = ["BoxUsage:m4.large", "BoxUsage:m6i.large", "EBS:VolumeUsage.gp2", "NodeUsage:cache.r4.large"]


@st.composite
def resource_sums(draw: st.DrawFn) -> ResourceSum:
    cost = draw(AMOUNTS)
    return ResourceSum(
        line=LineKey(
            source=draw(st.sampled_from("12")),
            currency=draw(st.sampled_from(["USD", "EUR"])),
            account=draw(st.sampled_from("ab")),
            region="r",
            usage_type=draw(st.sampled_from(USAGE_TYPES)),
            resource=draw(st.sampled_from(["", "i-1", "i-2", "i-3"])),
        ),
        provider="AWS",
        service="EC2",
        dev=draw(st.booleans()),
        cost=cost,
        weekend_cost=cost * draw(st.sampled_from([Decimal(0), Decimal("0.2"), Decimal("0.3"), Decimal(1)])),
        weekdays=draw(st.sampled_from([20, 21])),
        weekend_days=draw(st.sampled_from([9, 10])),
        name="",
        account_name="",
    )


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(resource_sums(), max_size=12, unique_by=lambda each: (each.line, each.dev)))
def test_savings_never_exceed_the_cost_of_their_lines_and_each_line_counts_once(
    sums: list[ResourceSum],
) -> None:
    kept_candidates = deduplicate_by_precedence([*weekends_off(sums, WINDOW), *successors(sums)])

    lines = [piece.line for each in kept_candidates for piece in each.pieces]
    assert len(lines) == len(set(lines))
    for currency in {line.currency for line in lines}:
        candidates_of_currency = [each for each in kept_candidates if each.currency == currency]
        cost = exact_sum(each.cost for each in sums if each.line.currency == currency)
        assert 0 < exact_sum(each.saving or Decimal(0) for each in candidates_of_currency) <= cost
    assert len({each.key for each in kept_candidates}) == len(kept_candidates)


def piece(resource: str, cost: Decimal, saving: Decimal | None) -> Piece:
    return Piece(LineKey("1", "USD", "a", "r", "u", resource), "", cost, saving, "")


@st.composite
def candidates(draw: st.DrawFn) -> SavingCandidate:
    pieces = {
        name: piece(name, cost, draw(st.sampled_from([None, cost / 2, cost])))
        for name, cost in draw(st.dictionaries(st.sampled_from("abcdef"), AMOUNTS, min_size=1)).items()
    }
    return SavingCandidate(
        rule=draw(st.sampled_from([rule.name for rule in PRECEDENCE])),
        unit=(draw(st.sampled_from("xyz")),),
        title="",
        advice="",
        formula="",
        provider="",
        service="",
        account_name="",
        pieces=list(pieces.values()),
    )


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(candidates(), max_size=8, unique_by=lambda each: each.key))
def test_weighing_counts_a_line_once_whatever_the_order(given: list[SavingCandidate]) -> None:
    kept_candidates = deduplicate_by_precedence(given)

    lines = [piece.line for each in kept_candidates for piece in each.pieces]
    assert len(lines) == len(set(lines))
    assert kept_candidates == deduplicate_by_precedence(given[::-1])


def test_ids_depend_on_rule_scope_and_currency_alone() -> None:
    candidate = SavingCandidate(
        rule="volume_type", unit=("a", "s"), title="t", advice="", formula="", provider="", service="s",
        account_name="", pieces=[piece("v", Decimal(5), Decimal(1))],
    )  # fmt: skip

    assert candidate.key == replace(candidate, pieces=[piece("w", Decimal(9), None)], lowered="less").key
    assert candidate.scope == SavingScope(source="1", currency="USD", resources=["v"])


def test_a_month_that_is_not_over_is_no_complete_month() -> None:
    assert [str(month.start) for month in months_before(LAST)][-1] == "2026-02-01"
    assert [str(month.start) for month in months_before(FIRST)] == [
        "2025-09-01",
        "2025-10-01",
        "2025-11-01",
        "2025-12-01",
    ]
