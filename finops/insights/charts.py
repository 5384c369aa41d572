"""From answers about insights to what their pages draw."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from finops.insights.commitments.answers import CommitmentAnswer, CommitmentTotal
from finops.insights.spend_change import words
from finops.insights.spend_change.answers import ChangeTotal, Move, SpendChangeAnswer
from finops.lib.charts import PLACES, Line, SeriesTable, bucket_label, chart_spec, other_name
from finops.lib.money import exact_sum
from finops.lib.sentences import truncate

NAME_LENGTH = 28


@dataclasses.dataclass(frozen=True)
class Waterfall:
    """The change of one currency: its total, its moves, and the drawing from the earlier amount to the later."""

    total: ChangeTotal
    moves: Sequence[Move]
    data: dict[str, Any]

    @property
    def unlisted(self) -> int:
        """Groups that one move sums up."""
        return sum(move.other_groups for move in self.moves)


def waterfalls(answer: SpendChangeAnswer) -> list[Waterfall]:
    """One for each currency, what most of the money moved in first."""
    charts = [
        _waterfall(total, [move for move in answer.moves if move.currency == total.currency])
        for total in answer.totals
    ]
    return sorted(charts, key=lambda each: -abs(each.total.current_amount))


def move_name(move: Move) -> str:
    """What a person calls it."""
    return other_name(move.other_groups) if move.other_groups else words.name_of(move)


def _waterfall(total: ChangeTotal, moves: Sequence[Move]) -> Waterfall:
    """Steps as [from, to]: the earlier amount, each move on top of those before it, the later amount."""
    changed_moves = [move for move in moves if move.change]
    at, steps = total.previous_amount, [(Decimal(0), total.previous_amount)]
    for move in changed_moves:
        after = exact_sum([at, move.change])
        steps.append((at, after))
        at = after
    steps.append((Decimal(0), total.current_amount))
    labels = ["Before", *[truncate(move_name(move), NAME_LENGTH) for move in changed_moves], "After"]
    data = {
        "kind": "waterfall",
        "currency": total.currency,
        "labels": labels,
        "steps": [[float(round(low, PLACES)), float(round(high, PLACES))] for low, high in steps],
        "series": [],
    }
    return Waterfall(total, moves, data)


@dataclasses.dataclass(frozen=True)
class CommitmentChart:
    """One currency: what was used and unused of its commitments over time; no table for granularity none."""

    total: CommitmentTotal
    table: SeriesTable | None


def commitment_charts(answer: CommitmentAnswer, granularity: str) -> list[CommitmentChart]:
    """One for each currency, the most committed first."""
    totals = sorted(answer.totals, key=lambda total: -total.committed_cost)
    return [CommitmentChart(total, _used_and_unused(total, granularity)) for total in totals]


def _used_and_unused(total: CommitmentTotal, granularity: str) -> SeriesTable | None:
    if not total.buckets:
        return None
    labels = [bucket_label(bucket.start_date.isoformat(), granularity) for bucket in total.buckets]
    used: list[Decimal | None] = [bucket.used_cost for bucket in total.buckets]
    unused: list[Decimal | None] = [bucket.unused_cost for bucket in total.buckets]
    whole: list[Decimal | None] = [
        exact_sum([bucket.used_cost, bucket.unused_cost]) for bucket in total.buckets
    ]
    lines = [Line("Used", used), Line("Unused", unused, rest=True)]
    chart = chart_spec(unit=total.currency, labels=labels, lines=lines, line=False, stacked=True)
    rows = [("Used", used, total.used_cost), ("Unused", unused, total.unused_cost)]
    return SeriesTable(total.currency, labels, rows, whole, total.committed_cost, chart, total.currency)
