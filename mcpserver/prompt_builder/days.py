"""Days of a prompt: a week or a month with cost data, as concrete dates."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta

from finops.lib.errors import UserError
from finops.lib.periods import DateRange, add_months, bucket_start, month_end, month_start, next_bucket
from mcpserver.prompt_builder.arguments import match_choices
from mcpserver.prompt_builder.prompt_context import Argument, PromptContext
from mcpserver.registry import Completion

MAX_SUGGESTIONS = 5
_WEEK = re.compile(r"(\d{4})-?[Ww](\d{1,2})")
_MONTH = re.compile(r"(\d{4})-(\d{1,2})")


def week_of(day: date) -> DateRange:
    start = bucket_start("week", day)
    return DateRange(start, start + timedelta(days=6))


def month_of(day: date) -> DateRange:
    return DateRange(month_start(day), month_end(day))


def last_week(ctx: PromptContext) -> DateRange:
    """Return the week before this one; if the data ends earlier, the week in which it ends."""
    before = ctx.today - timedelta(days=7)
    return week_of(min(before, ctx.coverage.last_day or before))


def this_month(ctx: PromptContext) -> DateRange:
    """Return this month; if the data ends earlier, the month in which it ends."""
    return month_of(min(ctx.today, ctx.coverage.last_day or ctx.today))


def complete_month(ctx: PromptContext) -> DateRange:
    """Return the last month that is over and complete; without such a month, the previous month."""
    through = ctx.coverage.complete_through or month_start(ctx.today)
    after = min(through + timedelta(days=1), ctx.today)
    return month_of(add_months(after, -1))


def recent_days(ctx: PromptContext, days: int) -> DateRange:
    """Return `days` days up to the last day with complete data, or up to yesterday."""
    end = ctx.coverage.complete_through or ctx.today - timedelta(days=1)
    return DateRange(end - timedelta(days=days - 1), end)


def format_range(days: DateRange) -> str:
    """Return `Monday 2026-11-09 to Sunday 2026-11-15`."""
    return f"{days.start:%A} {days.start} to {days.end:%A} {days.end}"


def _read_week(ctx: PromptContext, text: str) -> DateRange:
    return week_of(
        _start_with_data("week", text, _week_day(text), _starts(ctx, "week"), "Use its Monday: 2026-11-09.")
    )


def _read_month(ctx: PromptContext, text: str) -> DateRange:
    return month_of(
        _start_with_data("month", text, _month_day(text), _starts(ctx, "month"), "Use the format 2026-11.")
    )


def _start_with_data(name: str, text: str, day: date | None, starts: list[date], form: str) -> date:
    """Return the start of the week or month of a day. Raises UserError for one without data, with the nearest that
    have data."""
    if day is None:
        raise UserError(
            f"{name}: {text!r} is not a {name}. {form} {_nearest(name, None, starts)}", field=name, value=text
        )
    start = bucket_start(name, day)
    if start not in starts:
        raise UserError(
            f"{name}: no cost data in the {name} of {start}. {_nearest(name, start, starts)}",
            field=name,
            value=text,
        )
    return start


def _nearest(name: str, start: date | None, starts: list[date]) -> str:
    if not starts:
        return f"The account has no cost data yet. Remove {name}."
    close = sorted(starts, key=lambda each: abs(each - start) if start else timedelta())[:MAX_SUGGESTIONS]
    return f"Nearest: {', '.join(_format_start(name, each) for each in close)}."


def _format_start(name: str, start: date) -> str:
    return f"{start:%Y-%m}" if name == "month" else start.isoformat()


def _week_day(text: str) -> date | None:
    match = _WEEK.fullmatch(text)
    try:
        return date.fromisocalendar(int(match[1]), int(match[2]), 1) if match else date.fromisoformat(text)
    except ValueError:
        return None


def _month_day(text: str) -> date | None:
    match = _MONTH.fullmatch(text)
    try:
        return date(int(match[1]), int(match[2]), 1) if match else date.fromisoformat(text)
    except ValueError:
        return None


def _starts(ctx: PromptContext, granularity: str) -> list[date]:
    """Return the first day of each week or month with data, newest first. No lake query."""
    starts: set[date] = set()
    for span in ctx.coverage.covered:
        start = bucket_start(granularity, span.start)
        while start <= min(span.end, ctx.today):
            starts.add(start)
            start = next_bucket(granularity, start)
    return sorted(starts, reverse=True)


def _complete(granularity: str) -> Callable[[PromptContext, str], Completion]:
    def complete(ctx: PromptContext, typed: str) -> Completion:
        return match_choices(
            (_format_start(granularity, start) for start in _starts(ctx, granularity)), typed
        )

    return complete


WEEK: Argument[DateRange] = Argument(
    name="week",
    title="Week",
    description="Any of its days, such as 2026-11-09, or 2026-W46. Default: the last full week.",
    read=_read_week,
    complete=_complete("week"),
)


def month(left_out: str) -> Argument[DateRange]:
    """Return an argument for a month with data; `left_out` describes the default."""
    return Argument(
        name="month",
        title="Month",
        description=f"Such as 2026-10. Default: {left_out}.",
        read=_read_month,
        complete=_complete("month"),
    )
