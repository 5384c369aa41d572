"""Any bill under growth, ending commitments and a purchase: the same sums by plain Fractions over the raw lines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.costs.models import CostSource
from finops.insights.simulation.schemas import Purchase, UsageGrowth
from tests.examples import examples
from tests.factories.costs import Line, cost, store_lines
from tests.finops.insights.simulation.bills import simulate_again

FIRST, LAST = date(2026, 1, 1), date(2026, 1, 4)
KINDS = ("on_demand", "spot", "used", "unused", "tax")
STATUS = {"used": "Used", "unused": "Unused"}
PRICING = {"on_demand": "Standard", "spot": "Dynamic", "used": "Committed", "unused": "Committed"}


@st.composite
def lines(draw: st.DrawFn) -> Line:
    kind = draw(st.sampled_from(KINDS))
    day = draw(st.dates(FIRST, LAST))
    hour = draw(st.none() | st.integers(0, 23))
    amount = draw(st.decimals(0, 500, places=6))
    contracted = draw(st.none() | st.decimals(0, 900, places=6)) if kind == "used" else None
    columns: dict[str, Any] = {
        "service": draw(st.sampled_from(["EC2", "Lambda"])),
        "charge_category": "Tax" if kind == "tax" else "Usage",
        "pricing_category": PRICING.get(kind),
        "commitment_status": STATUS.get(kind),
        "commitment_id": draw(st.sampled_from(["sp-1", "sp-2"])) if kind in STATUS else None,
        "contracted_cost": contracted,
    }
    if hour is not None:
        start = datetime(day.year, day.month, day.day, hour, tzinfo=UTC)
        columns |= {"charge_period_start": start, "charge_period_end": start + timedelta(hours=1)}
    return cost(day, amount, **columns)


@settings(
    max_examples=examples(60),
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    rows=st.lists(lines(), min_size=1, max_size=25),
    percent=st.decimals(-100, 300, places=2),
    per_hour=st.integers(1, 40),
)
def test_a_simulation_is_the_sum_of_what_becomes_of_each_line(
    acme: Account, source: CostSource, rows: list[Line], percent: Decimal, per_hour: int
) -> None:
    anchors = [cost(day, 0, service="Mail") for day in (FIRST, LAST)]
    coverable = cost(FIRST, 1, service="EC2", pricing_category="Standard")
    store_lines(acme, source, [*rows, *anchors, coverable])

    answer = simulate_again(
        acme,
        end_date=LAST,
        growth=[UsageGrowth(percent=percent, dimension="service", values=["EC2"])],
        ending=["sp-1"] if any(row["commitment_id"] == "sp-1" for row in rows) else [],
        purchases=[Purchase(per_hour=Decimal(per_hour), discount_percent=Decimal(50))],
    )

    baseline, simulated, left_out = _by_line([*rows, coverable], Fraction(percent) / 100, per_hour)
    assert Fraction(answer.totals[0].baseline) == baseline
    assert Fraction(answer.totals[0].simulated) == simulated
    assert sum(Fraction(each.cost) for each in answer.left_out) == left_out


def _by_line(rows: Sequence[Line], growth: Fraction, per_hour: int) -> tuple[Fraction, Fraction, Fraction]:
    baseline = simulated = left_out = Fraction(0)
    on_demand: dict[date, dict[datetime | None, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for row in rows:
        amount = Fraction(row["effective_cost"])
        share = growth if row["service"] == "EC2" else Fraction(0)
        ends = row.get("commitment_id") == "sp-1"
        status, standard = row.get("commitment_status"), row.get("pricing_category") == "Standard"
        if row["charge_category"] != "Usage":
            remainder, uncovered = amount, Fraction(0)
        elif status == "Unused":
            remainder, uncovered = (Fraction(0) if ends else amount), Fraction(0)
        elif status == "Used":
            more = 1 + share if ends else max(share, Fraction(0))
            if row["contracted_cost"] is None and (more or ends):
                left_out += amount
                continue
            remainder, uncovered = (
                (Fraction(0) if ends else amount),
                Fraction(row["contracted_cost"] or 0) * more,
            )
        else:
            remainder, uncovered = Fraction(0), amount * (1 + share)
        baseline += amount
        simulated += remainder + uncovered
        if uncovered and (standard or status == "Used"):
            on_demand[row["charge_date"]][row.get("charge_period_start")] += uncovered
    capacity = 2 * per_hour
    for hours in on_demand.values():
        if None in hours:
            simulated -= min(sum(hours.values()), Fraction(24 * capacity))
        else:
            simulated -= sum(min(each, Fraction(capacity)) for each in hours.values())
    return baseline, simulated + 4 * 24 * per_hour, left_out
