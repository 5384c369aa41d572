"""Charts of the split pages: each value before and after, side by side."""

from __future__ import annotations

from typing import Any

from finops.allocation.splits.schemas import EffectTotal, SplitEffectAnswer, SplitEffectRow
from finops.lib.charts import Line, chart_spec, other_name
from finops.lib.money import exact_sum
from finops.lib.sentences import truncate

DRAWN = 12
LABEL_LENGTH = 24


def effect_charts(effect: SplitEffectAnswer) -> list[tuple[EffectTotal, dict[str, Any]]]:
    """Return each currency's figures with their chart; currencies without moves have figures only."""
    return [
        (total, _chart(total))
        for total in effect.totals
        if any(row.before or row.after for row in total.rows)
    ]


def _chart(total: EffectTotal) -> dict[str, Any]:
    rows = total.rows if len(total.rows) <= DRAWN + 1 else [*total.rows[:DRAWN], _rest(total.rows[DRAWN:])]
    return chart_spec(
        unit=total.currency,
        labels=[truncate(row.label, LABEL_LENGTH) for row in rows],
        lines=[
            Line("Before", [row.before for row in rows], rest=True),
            Line("After", [row.after for row in rows]),
        ],
        line=False,
        stacked=False,
    )


def _rest(rows: list[SplitEffectRow]) -> SplitEffectRow:
    name = other_name(len(rows))
    return SplitEffectRow(
        value=name,
        label=name,
        before=exact_sum(row.before for row in rows),
        moved=exact_sum(row.moved for row in rows),
        after=exact_sum(row.after for row in rows),
        currency=rows[0].currency,
    )
