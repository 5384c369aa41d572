"""Detection of daily or hourly files that each repeat the month so far, like those of Tencent Cloud and OVHcloud.
Read together, they would count cost several times."""

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
"""The most bytes of the two compared days; larger ones are not compared."""
_DATE: Final = re.compile(
    r"(?<!\d)(20\d\d)[-_/]?(0[1-9]|1[0-2])[-_/]?(0[1-9]|[12]\d|3[01])(?!\d)(?:/(?:hour=)?([01]\d|2[0-3])(?=/))?"
)
"""A day, and the hour if the folder below it is one."""

Snapshot = tuple[date, str]
"""The day and the hour in a path; "" without an hour."""

TotalsByDay = dict[date, Decimal]
"""Billed cost by charge day, summed over all currencies: only for comparison, never shown."""


def snapshot_note(files: Sequence[FocusFile], config: ConnectorConfig) -> str:
    """Return a warning, with the fix, that files of a month repeat each other; empty if they do not or if this is unknown.

    The newest two days or hours in the names are compared. The later one is a snapshot if it has every day of the earlier one, and
    the same cost on at least one of them; for two hours of a day the same cost on all days but the last, since hours may cost the
    same. Cost: reading two columns of the files of these two.
    """
    groups: dict[Snapshot, list[FocusFile]] = defaultdict(list)
    for file in files:
        if snapshot := snapshot_of(file.name):
            groups[snapshot].append(file)
    if len(groups) < 2:
        return ""
    earlier, later = sorted(groups)[-2:]
    if sum(file.path.stat().st_size for each in (earlier, later) for file in groups[each]) > MAX_BYTES:
        return ""
    is_snapshot = is_snapshot_of if earlier[0] < later[0] else is_hourly_snapshot_of
    try:
        if not is_snapshot(_totals(groups[earlier], config), _totals(groups[later], config)):
            return ""
    except (UserError, BadCell, LateDecimalComma, *CAST_ERRORS):
        return ""  # the import reports the error of the file
    marks = "the day in the pattern with {day}" + (", and the hour with {hour}" if later[1] else "")
    return (
        f"The files of {_text(earlier)} and {_text(later)} repeat the same days, so their cost counts more than once. Mark {marks}: "
        "then only the newest files of a month are read."
    )


def _text(snapshot: Snapshot) -> str:
    day, hour = snapshot
    return f"{day} {hour}:00" if hour else f"{day}"


def snapshot_of(name: str) -> Snapshot | None:
    """Return the last day in a path (`20260531`, `2026-05-31` or `2026/05/31`), with the hour if the folder below it is one."""
    snapshots = []
    for match in _DATE.finditer(name):
        with suppress(ValueError):
            snapshots.append((date(int(match[1]), int(match[2]), int(match[3])), match[4] or ""))
    return snapshots[-1] if snapshots else None


def is_snapshot_of(earlier: TotalsByDay, later: TotalsByDay) -> bool:
    """Return whether the later files contain the earlier ones."""
    is_repeated = bool(earlier) and earlier.keys() <= later.keys()
    return is_repeated and any(amount and later[day] == amount for day, amount in earlier.items())


def is_hourly_snapshot_of(earlier: TotalsByDay, later: TotalsByDay) -> bool:
    """Return the same for two hours of a day."""
    before = sorted(earlier)[:-1]
    return (
        is_snapshot_of(earlier, later) and bool(before) and all(later[day] == earlier[day] for day in before)
    )


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
