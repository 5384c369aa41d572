"""Forecasts of daily amounts."""

from __future__ import annotations

import calendar
import random
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.lib.forecasting import MODEL, SMOOTH, TRENDING, Forecast, Unforecastable, forecast
from finops.lib.forecasting.backtest import Trial, spread_of
from finops.lib.forecasting.model import day_of, fit_model
from finops.lib.holidays import holidays_of
from finops.lib.periods import DateRange
from tests.examples import examples

FIRST = date(2025, 1, 1)


def day(index: int) -> date:
    return FIRST + timedelta(days=index)


def series(values: list[float]) -> dict[date, Decimal]:
    return {day(index): Decimal(str(value)) for index, value in enumerate(values)}


def make_forecast(history: dict[date, Decimal], days: int = 31, level: float = 0.8) -> Forecast:
    start = max(history) + timedelta(days=1)
    result = forecast(history, DateRange(start, start + timedelta(days=days - 1)), level=level)
    assert isinstance(result, Forecast)
    return result


def noisy_history(cost: Callable[[date], float], days: int, *, noise: float = 0.0) -> dict[date, Decimal]:
    rng = random.Random("forecast")
    return {day(i): Decimal(str(round(cost(day(i)) + rng.gauss(0, noise), 6))) for i in range(days)}


def is_last_of_month(day: date) -> bool:
    return day.day == calendar.monthrange(day.year, day.month)[1]


def test_a_constant_cost_is_forecast_within_half_a_percent() -> None:
    result = make_forecast(series([12.5] * 60))
    for band, days in [(result.total(), 31), (result.daily[0], 1)]:
        assert band.mean == Decimal("12.5") * days
        assert band.upper - band.mean == band.mean - band.lower == band.mean / 200


def test_a_weekday_costs_what_it_used_to() -> None:
    week = [100.0] * 5 + [20.0] * 2
    result = make_forecast(noisy_history(lambda day: week[day.weekday()], 84), 14)
    assert [day.mean for day in result.daily] == [Decimal(week[day.day.weekday()]) for day in result.daily]


def test_a_fee_on_the_first_and_a_tax_on_the_last_day_come_back() -> None:
    def cost(day: date) -> float:
        return 100 + 900 * (day.day == 1) + 400 * is_last_of_month(day)

    result = make_forecast(noisy_history(cost, 180, noise=2), 62)
    assert all(abs(float(each.mean) - cost(each.day)) < 10 for each in result.daily)


def test_a_fee_that_was_seen_once_on_the_first_is_expected_again() -> None:
    result = make_forecast(noisy_history(lambda day: 10 + 500 * (day.day == 1), 45), 30)
    assert {each.day.day: each.mean for each in result.daily}[1] == 510


def test_one_odd_day_is_not_expected_again() -> None:
    odd = day(100)
    result = make_forecast(noisy_history(lambda day: 50 + 5000 * (day == odd), 121), 31)
    assert result.total().mean == 50 * 31


def test_a_week_after_a_step_the_new_level_holds() -> None:
    result = make_forecast(noisy_history(lambda each: 100.0 if each < day(186) else 300.0, 200))
    assert all(each.mean == 300 for each in result.daily)


def test_steady_growth_is_forecast() -> None:
    result = make_forecast(noisy_history(lambda each: 100 + 0.5 * (each - FIRST).days, 300, noise=1), 30)
    expected = sum(100 + 0.5 * (300 + index) for index in range(30))
    assert abs(float(result.total().mean) - expected) < 0.02 * expected


def ramp(seed: int) -> tuple[dict[date, Decimal], Callable[[date], float], random.Random]:
    """A service that began to grow by a percent of what it was each day, some hundred days ago."""
    rng = random.Random(seed)
    begin, rate = rng.randrange(190, 240), rng.uniform(0.006, 0.015)

    def cost(each: date) -> float:
        week = 1.0 if each.weekday() < 5 else 0.7
        return 500 * week * (1 + rate * max(0, (each - day(begin)).days))

    return {day(i): Decimal(str(cost(day(i)) * (1 + rng.gauss(0, 0.03)))) for i in range(330)}, cost, rng


def test_a_ramp_is_forecast_and_its_daily_bands_hold() -> None:
    hits = count = 0
    for seed in range(12):
        history, cost, rng = ramp(seed)
        result = make_forecast(history, 30)
        expected = sum(cost(each.day) for each in result.daily)
        assert result.model == TRENDING
        assert abs(float(result.total().mean) - expected) < 0.06 * expected
        for each in result.daily:
            hits += each.lower <= cost(each.day) * (1 + rng.gauss(0, 0.03)) <= each.upper
            count += 1
    assert 0.7 <= hits / count <= 0.97


def test_a_noisy_level_without_a_trend_is_that_of_eight_weeks() -> None:
    results = [make_forecast(noisy_history(lambda day: 100.0, 300, noise=scale)) for scale in (2, 5, 10, 20)]
    assert [each.model for each in results] == [SMOOTH] * 4
    for each, scale in zip(results, (2, 5, 10, 20), strict=True):
        assert abs(float(each.total().mean) / 31 - 100) < 0.25 * scale


def test_a_noisy_level_follows_a_step_after_a_week_too() -> None:
    result = make_forecast(noisy_history(lambda each: 100.0 if each < day(290) else 300.0, 300, noise=10))
    assert abs(float(result.total().mean) / 31 - 300) < 20


def test_a_level_that_moves_keeps_that_of_the_last_days() -> None:
    def steps(each: date) -> float:
        return 100.0 + 40 * (((each - FIRST).days // 50) % 3)

    assert make_forecast(noisy_history(steps, 300, noise=3)).model == MODEL


def test_a_guess_never_narrows_what_the_trials_show() -> None:
    days = [day_of(day(index)) for index in range(100)]
    quiet = fit_model([100.0 + (index % 2) for index in range(100)], days)
    trials = [
        Trial(
            errors={30: 30 * 12.0},
            actual={30: 3000.0},
            naive={30: 0.0},
            by_day=tuple((ahead, 12.0) for ahead in range(1, 31)),
            level=quiet.level,
        )
        for _ in range(20)
    ]
    half = NormalDist().inv_cdf(0.9) * spread_of(quiet, trials, 0.8, history_days=100).of_total(1, 1)
    assert half >= 12.0 - 1e-9


def test_holidays_are_like_sundays_where_past_ones_were() -> None:
    def office(each: date) -> float:
        return 20 if each.weekday() > 4 or each in holidays_of("DE", each.year) else 100

    def shop(each: date) -> float:
        return 20 if each.weekday() > 4 else 100

    ahead = DateRange(day(460), day(490))
    (easter_monday,) = (each for each in [date(2026, 4, 6)] if ahead.start <= each <= ahead.end)
    expected = {}
    for name, cost, country in (("office", office, "DE"), ("no country", office, ""), ("shop", shop, "DE")):
        result = forecast(noisy_history(cost, 460, noise=2), ahead, country=country)
        assert isinstance(result, Forecast)
        expected[name] = {each.day: float(each.mean) for each in result.daily}
    assert expected["office"][easter_monday] == pytest.approx(20, abs=5)
    assert expected["office"][date(2026, 4, 7)] == pytest.approx(100, abs=5)
    assert expected["no country"][easter_monday] == pytest.approx(100, abs=5)
    assert expected["shop"][easter_monday] == pytest.approx(100, abs=5)
    assert holidays_of("XX", 2026) == frozenset()


def test_zeros_stay_zero_and_credits_negative() -> None:
    assert make_forecast(series([0.0] * 50)).total().upper == 0
    result = make_forecast(noisy_history(lambda day: -20.0 * (day.day == 3), 200), 31)
    assert result.total().mean == -20


def test_gaps_are_no_zeros() -> None:
    history = {day: amount for day, amount in series([40.0] * 90).items() if day.day % 3}
    assert all(each.mean == 40 for each in make_forecast(history).daily)


def test_a_later_horizon_is_less_certain() -> None:
    history = noisy_history(lambda day: 100.0, 200, noise=10)
    result = make_forecast(history, 90)
    near, far = result.total(DateRange(day(200), day(209))), result.total(DateRange(day(280), day(289)))
    assert far.upper - far.lower > near.upper - near.lower
    later = forecast(history, DateRange(day(280), day(289)))
    assert isinstance(later, Forecast)
    assert later.total() == far


def test_a_forecast_has_its_past_accuracy() -> None:
    result = make_forecast(
        noisy_history(lambda day: 100 - 80 * (day.weekday() > 4) + 500 * (day.day == 1), 300, noise=3), 30
    )
    assert result.accuracy is not None
    assert (result.accuracy.days, result.accuracy.trials) == (30, 10)
    assert result.accuracy.error is not None
    assert result.accuracy.naive_error is not None
    assert result.accuracy.error < 0.03 < 0.1 < result.accuracy.naive_error
    assert make_forecast(series([5.0] * 20)).accuracy is None


@pytest.mark.parametrize("days", [0, 1, 13])
def test_less_than_two_weeks_of_data_give_no_forecast_but_a_reason(days: int) -> None:
    result = forecast(series([1.0] * days), DateRange(date(2026, 2, 1), date(2026, 2, 28)))
    count = f"{days} day{'' if days == 1 else 's'}"
    assert result == Unforecastable(f"A forecast needs at least 14 days with data; the history has {count}.")


def test_a_horizon_inside_the_history_is_refused() -> None:
    with pytest.raises(ValueError, match="inside the history"):
        forecast(series([1.0] * 30), DateRange(day(29), day(60)))


def test_a_total_of_days_outside_the_horizon_is_refused() -> None:
    with pytest.raises(ValueError, match="is not inside"):
        make_forecast(series([1.0] * 30)).total(DateRange(day(29), day(31)))


def test_bands_hold_the_share_of_cases_that_they_say() -> None:
    """Months of noisy weeks with a wandering level, which no constant of the model was chosen on."""
    hits = count = 0
    for seed in range(60):
        rng, level, history = random.Random(seed), 500.0, {}
        for index in range(330):
            level += rng.gauss(0, 4)
            week = 1.0 if day(index).weekday() < 5 else 0.7
            history[day(index)] = Decimal(str(level * week + rng.gauss(0, 20)))
        result = make_forecast({each: history[each] for each in map(day, range(300))}, 30)
        actual = sum(history[day(index)] for index in range(300, 330))
        hits += result.total().lower <= actual <= result.total().upper
        count += 1
    assert 0.7 <= hits / count <= 0.95


amounts = st.lists(st.integers(-5000, 20000), min_size=14, max_size=90)


@pytest.mark.soak
@settings(max_examples=examples(25), deadline=None)
@given(values=amounts, level=st.sampled_from([0.5, 0.8, 0.95]))
def test_a_band_contains_its_mean_and_totals_add_up(values: list[int], level: float) -> None:
    result = make_forecast(series([value / 100 for value in values]), 40, level)
    first, second = result.horizon.start, result.horizon.start + timedelta(days=17)
    before, after = DateRange(first, second), DateRange(second + timedelta(days=1), result.horizon.end)
    whole = result.total()
    assert result.total(before).mean + result.total(after).mean == whole.mean
    assert whole.mean == sum(each.mean for each in result.daily)
    for band in [whole, *result.daily]:
        assert band.lower <= band.mean <= band.upper
    # The level's error, which all days share, grows with how far ahead a total ends: as if every day were the last.
    widest = max(each.upper - each.lower for each in result.daily)
    assert whole.upper - whole.lower <= 40 * widest + Decimal("1e-9")


@pytest.mark.soak
@settings(max_examples=examples(25), deadline=None)
@given(values=amounts, factor=st.sampled_from([2, 1024, 0.5]), shift=st.sampled_from([0, 64, -256]))
def test_scaled_and_shifted_costs_have_a_scaled_and_shifted_forecast(
    values: list[int], factor: float, shift: int
) -> None:
    plain = make_forecast(series([float(value) for value in values]))
    moved = make_forecast(series([value * factor + shift for value in values]))
    for first, other in zip(plain.daily, moved.daily, strict=True):
        assert float(other.mean) == pytest.approx(float(first.mean) * factor + shift, rel=1e-6, abs=1e-5)
        if not shift:
            # An error of before counts by how the level has grown, so bands are not those of a shifted level.
            assert float(other.upper) == pytest.approx(float(first.upper) * factor, rel=1e-6, abs=1e-5)


@settings(max_examples=examples(50), deadline=None)
@given(values=amounts)
def test_the_same_history_gives_the_same_forecast(values: list[int]) -> None:
    history = series([float(value) for value in values])
    assert make_forecast(history) == make_forecast(dict(reversed(history.items())))
