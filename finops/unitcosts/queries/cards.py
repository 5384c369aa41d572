"""Saved unit metrics with their figures of the last 30 days."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from msgspec.structs import replace

from accounts.models import Account
from finops.costs.queries.sources import load_sources
from finops.lib.errors import UserError
from finops.lib.formats.numbers import plural
from finops.unitcosts.answers import UnitCostAnswer, UnitCostTotal
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries.division import currency_of
from finops.unitcosts.queries.facts import SharedReads, common_reads
from finops.unitcosts.queries.unit_cost import query_unit_cost
from finops.unitcosts.saved_question import question_of
from finops.unitcosts.unit_cost_query import UnitCostQuery


@dataclass(frozen=True)
class Card:
    """A unit metric and its figures, the currency with the largest cost first. `problem`: why the card has no
    figures."""

    metric: UnitMetric
    totals: list[UnitCostTotal] = field(default_factory=list)
    answer: UnitCostAnswer | None = None
    problem: str = ""

    @property
    def unit(self) -> str:
        """The unit of the figure: `1,000 requests`."""
        return per_unit(self.metric.per, self.answer.unit if self.answer else None, self.metric.usage_metric)


def per_unit(per: int, unit: str | None, metric: str) -> str:
    """The unit in words, as its sender calls it if known: `request`, `1,000 requests`, `1 EUR of revenue`."""
    if money := currency_of(unit):
        return f"{per:,} {money} of {metric}"
    word = unit or metric
    return plural(word, 1) if per == 1 else f"{per:,} {plural(word, per)}"


def card_query(metric: UnitMetric) -> UnitCostQuery:
    """Return the saved question over the last 30 days, by day, compared with the 30 before."""
    return replace(
        question_of(metric), period="last_30_days", granularity="day", compare_to="previous_period"
    )


def cards_of(account: Account, metrics: Iterable[UnitMetric]) -> list[Card]:
    """Return the metrics' figures, in total also for a metric by customer. Each costs as `query_unit_cost`; sources
    and usage metrics are read once."""
    every = list(metrics)
    if not every:
        return []
    shared = common_reads(account, every, load_sources(account))
    return [_card(account, metric, shared) for metric in every]


def _card(account: Account, metric: UnitMetric, shared: SharedReads) -> Card:
    try:
        answer = query_unit_cost(account, replace(card_query(metric), mode="total"), shared=shared)
    except UserError as problem:  # such as a deleted cost tag; the other cards still work
        return Card(metric, problem=problem.message)
    return Card(metric, answer.totals, answer, "" if answer.totals else answer.summary)
