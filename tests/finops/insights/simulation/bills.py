"""Small bills for simulations, and the question about them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from accounts.models import Account
from finops.insights.simulation.queries import simulate_cost
from finops.insights.simulation.schemas import SimulationAnswer, SimulationQuery
from tests.factories.costs import Line, add_source
from tests.finops.insights.commitments.test_commitments import on_demand

DAY = date(2026, 1, 5)


def hourly(hour: int, amount: str, /, day: date = DAY, **columns: Any) -> Line:
    """Usage of EC2 on demand in one hour of the day."""
    start = datetime(day.year, day.month, day.day, hour, tzinfo=UTC)
    period = {"charge_period_start": start, "charge_period_end": start + timedelta(hours=1)}
    return on_demand(amount, **{"charge_date": day, **period, **columns})


def simulate(acme: Account, lines: Sequence[Line], **query: Any) -> SimulationAnswer:
    """January; the effects of each currency have to add up to its change."""
    add_source(acme, lines)
    return simulate_again(acme, **query)


def simulate_again(acme: Account, **query: Any) -> SimulationAnswer:
    days: dict[str, Any] = {"start_date": date(2026, 1, 1), "end_date": date(2026, 1, 31)}
    answer = simulate_cost(acme, SimulationQuery(**{**days, **query}))
    for total in answer.totals:
        effects = [each.change for each in answer.effects if each.currency == total.currency]
        assert sum(effects) == total.change == total.simulated - total.baseline
    return answer


def quantity(amount: str, unit: str = "Hrs") -> dict[str, Any]:
    return {"pricing_quantity": Decimal(amount), "pricing_unit": unit}


def decimals(*amounts: int) -> tuple[Decimal, ...]:
    return tuple(map(Decimal, amounts))
