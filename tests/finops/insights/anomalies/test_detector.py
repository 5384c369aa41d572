"""The detector: results for shapes of cost, at any scale, and on another day."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from finops.insights.anomalies.detector import AcknowledgedDays, Detection, Series, detect
from tests.examples import examples

START = date(2025, 9, 1)
DAYS = 240
AT = 200

Shape = Callable[[int], float]


def noise(index: int) -> float:
    """A few percent up and down, without chance."""
    return 1 + 0.03 * math.sin(index * 12.9898) + 0.02 * math.sin(index * 4.1414)


def day(index: int) -> date:
    return START + timedelta(days=index)


def flat(index: int) -> float:
    return 100 * noise(index)


def weekly(index: int) -> float:
    return flat(index) * (1.0 if day(index).weekday() < 5 else 0.4)


def office(index: int) -> float:
    return flat(index) if day(index).weekday() < 5 else 0.0


def month_end(index: int) -> float:
    return flat(index) * (3.0 if (day(index) + timedelta(days=1)).day == 1 else 1.0)


def first_of_month(index: int) -> float:
    return 900 * noise(index) if day(index).day == 1 else 0.0


def growing(index: int) -> float:
    return weekly(index) * (1 + index / 365)


SEASONAL = {shape.__name__: shape for shape in (flat, weekly, office, month_end, first_of_month, growing)}


def series(shape: Shape, *, days: int = DAYS, acknowledged: tuple[AcknowledgedDays, ...] = ()) -> Series:
    return Series(START, [shape(index) for index in range(days)], acknowledged)


def detections(shape: Shape, **options: object) -> list[Detection]:
    """What is found after half a year of learning."""
    everything = detect(series(shape, **options)).detections  # type: ignore[arg-type]
    return [each for each in everything if each.last >= day(180)]


def spans(shape: Shape, **options: object) -> list[tuple[str, int, int]]:
    return [
        (each.kind, (each.first - START).days, (each.last - START).days)
        for each in detections(shape, **options)
    ]


@pytest.mark.parametrize("name", SEASONAL)
def test_cost_that_repeats_by_weekday_or_month_is_no_anomaly(name: str) -> None:
    assert detections(SEASONAL[name]) == []


def late(shape: Shape, since: date) -> list[Detection]:
    """What is found in twenty months from some day on."""
    return [each for each in detect(series(shape, days=600)).detections if each.last >= since]


def quarterly(index: int) -> float:
    return flat(index) + (900.0 if day(index).day == 12 and day(index).month in (1, 4, 7, 10) else 0.0)


def test_a_quarterly_fee_is_learned_from_two_and_its_absence_is_no_drop() -> None:
    def ended(index: int) -> float:
        return flat(index) if day(index) > date(2026, 8, 1) else quarterly(index)

    assert late(quarterly, date(2026, 4, 1)) == []
    assert late(ended, date(2026, 4, 1)) == []


def test_a_fee_of_the_quarter_on_another_day_or_of_another_size_is_found() -> None:
    def fee_on_another_day(index: int) -> float:
        return quarterly(index) + (900.0 if day(index) == date(2026, 11, 12) else 0.0)

    (other,) = late(fee_on_another_day, date(2026, 4, 1))
    third = date(2027, 1, 12)
    (larger,) = late(lambda index: quarterly(index) * (3 if day(index) == third else 1), date(2026, 12, 1))

    assert other.first == date(2026, 11, 12)
    assert larger.first == third


def bursting(index: int) -> float:
    """Jobs of a day or two, every eleven days or so, at times one soon after the other."""
    busy = {start + extra for start in range(9, 600, 11) for extra in (0, start % 4)}
    return flat(index) * (4.0 if index in busy else 1.0)


def test_bursts_that_come_every_two_weeks_are_learned_and_larger_or_longer_ones_are_found() -> None:
    since = date(2026, 4, 1)
    at = 9 + 11 * 32 + 7

    assert late(bursting, since) == []
    (larger,) = late(lambda index: bursting(index) * (12 if index == at else 1), since)
    (longer,) = late(lambda index: flat(index) * 4 if at <= index < at + 8 else bursting(index), since)
    assert (larger.first, larger.kind) == (day(at), "spike")
    assert longer.first <= day(at + 1)
    assert longer.last >= day(at + 7)


def test_a_weekly_batch_is_learned_and_one_that_is_missing_or_doubled_is_found() -> None:
    def batch(index: int) -> float:
        return flat(index) * (5.0 if day(index).weekday() == 2 else 0.1)

    at = next(index for index in range(AT, DAYS) if day(index).weekday() == 2)
    assert detections(batch) == []
    for times, kind in ((0.0, "drop"), (2.0, "spike")):
        (detection,) = detections(lambda index, times=times: batch(index) * (times if index == at else 1.0))  # type: ignore[misc]
        assert (detection.first, detection.kind) == (day(at), kind)


@pytest.mark.parametrize("name", ["flat", "weekly", "growing"])
def test_a_spike_of_two_days_is_found_on_its_first(name: str) -> None:
    shape = SEASONAL[name]

    (spike,) = detections(lambda index: shape(index) * (3.0 if AT <= index <= AT + 1 else 1.0))

    assert (spike.kind, spike.first, spike.last, spike.detected_on) == (
        "spike",
        day(AT),
        day(AT + 1),
        day(AT),
    )
    assert not spike.ongoing


def test_a_new_level_is_one_anomaly_of_two_weeks_and_normal_from_then_on() -> None:
    (step,) = detections(lambda index: weekly(index) * (1.8 if index >= AT else 1.0))

    assert (step.kind, step.first, step.last) == ("step", day(AT), day(AT + 13))
    assert not step.ongoing


def test_a_way_back_to_the_level_before_is_no_drop() -> None:
    kinds = [
        kind for kind, *_ in spans(lambda index: weekly(index) * (1.8 if AT <= index < AT + 20 else 1.0))
    ]

    assert kinds == ["step"]


def test_a_slow_ramp_is_found_with_the_day_it_began() -> None:
    (ramp,) = detections(lambda index: weekly(index) * 1.02 ** max(0, min(index, AT + 30) - AT), days=AT + 20)

    assert ramp.is_up
    assert ramp.ongoing
    assert abs((ramp.first - day(AT)).days) <= 8


def test_a_drop_is_found_in_its_direction() -> None:
    (drop,) = detections(lambda index: weekly(index) * (0.2 if AT <= index <= AT + 2 else 1.0))

    assert (drop.kind, drop.first, drop.last) == ("drop", day(AT), day(AT + 2))
    assert drop.excess < 0


def test_cost_that_was_never_there_is_new() -> None:
    (new,) = detections(lambda index: flat(index) if index >= AT else 0.0)

    assert (new.kind, new.first) == ("new", day(AT))
    assert all(each.expected == 0 for each in new.days)


def test_an_anomaly_that_continues_to_the_end_of_the_data_says_so() -> None:
    (step,) = detections(lambda index: weekly(index) * (1.8 if index >= AT else 1.0), days=AT + 4)

    assert (step.ongoing, step.last) == (True, day(AT + 3))


def test_a_day_without_data_is_nothing() -> None:
    values = [None if AT <= index <= AT + 3 else weekly(index) for index in range(DAYS)]

    assert [each for each in detect(Series(START, values)).detections if each.last >= day(180)] == []


def test_two_weeks_are_too_few_to_say_anything() -> None:
    assert detect(series(lambda index: 100.0 if index < 13 else 900.0, days=14)).detections == ()


@pytest.mark.parametrize("extra", [1, 5, 20, 39])
def test_a_later_detection_gives_the_same_first_day(extra: int) -> None:
    def shape(index: int) -> float:
        return weekly(index) * (2.0 if AT <= index <= AT + 6 else 1.0)

    now = [each.first for each in detections(shape, days=AT + 1)]
    later = [each.first for each in detections(shape, days=AT + 1 + extra)]

    assert now == later == [day(AT)]


@settings(max_examples=examples(15), deadline=None)
@given(factor=st.floats(1e-6, 1e6), at=st.integers(185, 225), times=st.floats(1.6, 9.0))
def test_the_size_of_the_currency_does_not_matter(factor: float, at: int, times: float) -> None:
    def shape(index: int) -> float:
        return weekly(index) * (times if index == at else 1.0)

    plain, scaled = detections(shape), detections(lambda index: shape(index) * factor)

    assert [(each.kind, each.first, each.last) for each in plain] == [
        (each.kind, each.first, each.last) for each in scaled
    ]
    for first, other in zip(plain, scaled, strict=True):
        assert math.isclose(first.excess * factor, other.excess, rel_tol=1e-6)


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(0, 1e12)), max_size=60))
def test_any_series_is_evaluated_the_same_twice(values: list[float | None]) -> None:
    first, second = (detect(Series(START, values)) for _ in range(2))

    assert first == second
    assert len(first.observations) == len(values)
    assert all(each.first <= each.detected_on and each.first <= each.last for each in first.detections)


def test_a_level_called_expected_is_normal_at_once() -> None:
    def shape(index: int) -> float:
        return weekly(index) * (1.8 if index >= AT else 1.0)

    acknowledged = (AcknowledgedDays(day(AT), day(AT + 3), ongoing=True),)

    assert detections(shape, acknowledged=acknowledged) == []


def test_a_spike_called_expected_may_come_again_on_that_day_of_the_month() -> None:
    first, second = (date(2026, 2, 17) - START).days, (date(2026, 3, 17) - START).days

    def shape(index: int) -> float:
        return flat(index) * (2.5 if index in (first, second) else 1.0)

    untaught = [each.first for each in detections(shape)]
    acknowledged = (AcknowledgedDays(day(first), day(first)),)

    assert day(second) in untaught
    assert detections(shape, acknowledged=acknowledged) == []


def test_an_anomaly_larger_than_an_expected_one_is_found() -> None:
    first, second = (date(2026, 2, 17) - START).days, (date(2026, 3, 17) - START).days

    def shape(index: int) -> float:
        return flat(index) * {first: 2.5, second: 9.0}.get(index, 1.0)

    (spike,) = detections(shape, acknowledged=(AcknowledgedDays(day(first), day(first)),))

    assert spike.first == day(second)
