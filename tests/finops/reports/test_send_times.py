"""When a monthly report is due."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from finops.reports.schedule_days import SendTime


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("day", "now", "due", "following"),
    [
        (5, utc(2026, 4, 4), date(2026, 2, 1), utc(2026, 4, 5)),
        (5, utc(2026, 4, 5), date(2026, 3, 1), utc(2026, 5, 5)),
        (28, utc(2027, 1, 1), date(2026, 11, 1), utc(2027, 1, 28)),
        (1, utc(2027, 1, 1), date(2026, 12, 1), utc(2027, 2, 1)),
    ],
)
def test_a_month_is_due_from_its_day_in_the_next(
    day: int, now: datetime, due: date, following: datetime
) -> None:
    send_time = SendTime(day, 0, "UTC")

    assert send_time.newest_month_due(now) == due
    assert send_time.next_moment(due, now) == following
    assert send_time.next_moment(None, now) == now


@pytest.mark.parametrize(
    ("send_time", "moment"),
    [
        (SendTime(5, 8, "Europe/Berlin"), utc(2026, 4, 5, 6)),
        (SendTime(29 - 1, 23, "America/Los_Angeles"), utc(2026, 4, 29, 6)),
        (SendTime(1, 0, "Pacific/Auckland"), utc(2026, 4, 1)),
        (SendTime(1, 15, "Pacific/Auckland"), utc(2026, 4, 1, 2)),
    ],
)
def test_the_time_is_of_its_zone_and_never_before_the_month_is_over(
    send_time: SendTime, moment: datetime
) -> None:
    """The clocks of Berlin and Los Angeles are at summer time by then."""
    before = moment - timedelta(seconds=1)

    assert send_time.moment(date(2026, 3, 1)) == moment
    assert send_time.newest_month_due(moment) == date(2026, 3, 1)
    assert send_time.newest_month_due(before) == date(2026, 2, 1)


@pytest.mark.parametrize("time_zone", ["UTC", "America/Los_Angeles", "Pacific/Kiritimati"])
@pytest.mark.parametrize("day", [1, 2, 27, 28])
@pytest.mark.parametrize("hour", [0, 23])
def test_each_month_goes_out_once_in_every_zone(time_zone: str, day: int, hour: int) -> None:
    """By the hour over half a year, as beat asks."""
    send_time, sent, sent_month = SendTime(day, hour, time_zone), [], date(2025, 12, 1)
    for step in range(24 * 190):
        now = utc(2026, 1, 15) + timedelta(hours=step)
        if send_time.is_due(sent_month, now):
            sent_month = send_time.newest_month_due(now)
            sent.append(sent_month)

    assert sent == [date(2026, month, 1) for month in range(sent[0].month, sent[0].month + len(sent))]
    assert len(sent) >= 5
