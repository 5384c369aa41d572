"""The drawing of calls by day, and the table of its figures."""

from __future__ import annotations

from decimal import Decimal

from finops.activity.models import Outcome
from finops.activity.statistics import Statistics
from finops.lib.charts import Line, SeriesTable, Values, chart_spec

_UNIT = "calls"
# What went wrong is drawn in red, and what the assistant could mend in amber, whichever else is there.
_TONES = {Outcome.INCIDENT: "limit", Outcome.ERROR: "warning"}


def calls_table(statistics: Statistics) -> SeriesTable:
    """Calls of each day by outcome; outcomes that did not occur are left out."""
    labels = [str(day) for day in statistics.days]
    nonzero = {outcome: values for outcome, values in statistics.by_day.items() if any(values)}
    by_outcome = {outcome: [Decimal(value) for value in values] for outcome, values in nonzero.items()}
    lines = [
        Line(str(outcome.label), values, tone=_TONES.get(outcome, ""))
        for outcome, values in by_outcome.items()
    ]
    chart = chart_spec(unit=_UNIT, labels=labels, lines=lines, line=False, stacked=True, places=0)
    rows: list[tuple[str, Values, Decimal]] = [
        (str(outcome.label), list(values), sum(values, Decimal())) for outcome, values in by_outcome.items()
    ]
    totals = [sum(column, Decimal()) for column in zip(*by_outcome.values(), strict=True)]
    return SeriesTable(_UNIT, labels, rows, list(totals), sum(totals, Decimal()), chart)
