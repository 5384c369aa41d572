"""Forecasts of daily amounts."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

import pytest

from finops.lib.forecasting import Forecast, Unforecastable, forecast
from finops.lib.periods import DateRange

FIRST = date(2026, 1, 1)


def series(values: list[float]) -> dict[date, Decimal]:
    return {FIRST + timedelta(days=index): Decimal(str(value)) for index, value in enumerate(values)}


def made(values: list[float], days: int = 31) -> Forecast:
    start = FIRST + timedelta(days=len(values))
    found = forecast(series(values), DateRange(start, start + timedelta(days=days - 1)))
    assert isinstance(found, Forecast)
    return found


def test_a_constant_cost_goes_on_without_a_doubt() -> None:
    found = made([12.5] * 60)
    assert found.total().mean == Decimal("12.5") * 31
    assert found.total().lower == found.total().upper == found.total().mean


def test_a_weekday_costs_what_it_used_to() -> None:
    week = [100.0] * 5 + [20.0] * 2
    values = [week[(FIRST + timedelta(days=index)).weekday()] for index in range(84)]
    found = made(values, 14)
    assert all(abs(day.mean - Decimal(week[day.day.weekday()])) < 1 for day in found.daily)


def test_the_total_of_days_is_the_sum_of_their_means_and_its_band_narrower_than_theirs() -> None:
    found = made([10, 14, 9, 11, 13] * 20)
    assert found.total().mean == sum(day.mean for day in found.daily)
    widths = sum(day.upper - day.lower for day in found.daily)
    assert found.total().upper - found.total().lower < widths


def test_less_than_two_weeks_of_data_give_no_forecast_but_a_reason() -> None:
    found = forecast(series([1.0] * 13), DateRange(date(2026, 2, 1), date(2026, 2, 28)))
    assert found == Unforecastable("Only 13 days with data; a forecast needs at least 14.")


def test_a_horizon_inside_the_history_is_refused() -> None:
    with pytest.raises(ValueError, match="inside the history"):
        forecast(series([1.0] * 30), DateRange(date(2026, 1, 30), date(2026, 2, 28)))
