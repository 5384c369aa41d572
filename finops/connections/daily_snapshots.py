"""Daily files that each repeat the month so far, as Tencent Cloud's do: read together, they would count cost several times."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal
from typing import Final

import pyarrow as pa

from finops.connections.connector import ConnectorConfig
from finops.costs.focus import columns as spec
from finops.costs.focus.errors import CAST_ERRORS, BadCell
from finops.costs.focus.formats import AUTOMATIC, LateDecimalComma
from finops.costs.focus.open_files import FocusFile, open_files
from finops.costs.focus.report import Findings
from finops.costs.focus.rows import Columns
from finops.costs.focus.tags import Tags
from finops.lib.errors import UserError
from finops.lib.money import exact_sum

MAX_BYTES: Final = 1 << 30
"""Of the two days that are compared; larger ones are not looked at."""
_DATE: Final = re.compile(r"(?<!\d)(20\d\d)[-_/]?(0[1-9]|1[0-2])[-_/]?(0[1-9]|[12]\d|3[01])(?!\d)")

TotalsByDay = dict[date, Decimal]
"""Billed cost by the day of its charge, whatever its currency: a digest, never shown."""


def snapshot_note(files: Sequence[FocusFile], config: ConnectorConfig) -> str:
    """A warning that files of a month repeat each other, with what to do; empty where they do not, or nobody can tell.

    Compared are the two newest days that the names have: a snapshot has every day of the one before, and the same cost on one of
    them. Cost: two columns of the files of these days.
    """
    by_day: dict[date, list[FocusFile]] = defaultdict(list)
    for file in files:
        if day := day_of(file.name):
            by_day[day].append(file)
    if len(by_day) < 2:
        return ""
    earlier, later = sorted(by_day)[-2:]
    if sum(file.path.stat().st_size for day in (earlier, later) for file in by_day[day]) > MAX_BYTES:
        return ""
    try:
        if not is_snapshot_of(_totals(by_day[earlier], config), _totals(by_day[later], config)):
            return ""
    except (UserError, BadCell, LateDecimalComma, *CAST_ERRORS):
        return ""  # the import says what is wrong with a file
    return (
        f"The files of {earlier} and {later} repeat the same days, so their cost counts more than once. Mark the day in the "
        "pattern with {day}: then only the newest files of a month are read."
    )


def day_of(name: str) -> date | None:
    """The last day that a path names: `20260531`, `2026-05-31` or `2026/05/31`."""
    days = []
    for match in _DATE.finditer(name):
        with suppress(ValueError):
            days.append(date(*map(int, match.groups())))
    return days[-1] if days else None


def is_snapshot_of(earlier: TotalsByDay, later: TotalsByDay) -> bool:
    """Whether the later files hold the earlier ones too."""
    is_repeated = bool(earlier) and earlier.keys() <= later.keys()
    return is_repeated and any(amount and later[day] == amount for day, amount in earlier.items())


def _totals(files: Sequence[FocusFile], config: ConnectorConfig) -> TotalsByDay:
    totals: TotalsByDay = defaultdict(Decimal)
    for opened in open_files(files, config.defaults, AUTOMATIC, config.column_mapping):
        places = opened.columns_to_read(spec.CHARGE_PERIOD, spec.BILLING_PERIOD, spec.AMOUNTS["billed_cost"])
        for batch in opened.reader.batches(*places):
            columns = Columns(batch, opened.header, Findings(), Tags(), opened.formats)
            for each in _by_day(columns).to_pylist():
                totals[each["day"]] = exact_sum([totals[each["day"]], each["cost_sum"] or Decimal(0)])
    return totals


def _by_day(columns: Columns) -> pa.Table:
    periods = columns.periods()
    table = pa.table({"day": columns.of("charge_date", periods), "cost": columns.of("billed_cost", periods)})
    return table.group_by("day").aggregate([("cost", "sum")])
