"""The form of the answer about data health, the same for the tool and the page."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from finops.costs.answers import AccountRef


# Days (both ends inside) without cost lines, of a source that otherwise has some every day.
class Gap(msgspec.Struct, frozen=True, kw_only=True):
    start_date: date
    end_date: date


# A finished billing month that was imported again `times` times, last on `last_day`.
class RestatedMonth(msgspec.Struct, frozen=True, kw_only=True):
    month: str
    times: int
    last_day: date


# kind: cost, usage. status: healthy, stale, partial, failing, importing, no_data. `expected_by`: when the next delivery is late;
# None with a reason. `data_through`: the newest day that it has data for.
class ConnectionHealth(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str
    status: str
    reason: str
    what_to_do: str
    data_from: date | None
    data_through: date | None
    last_success_at: datetime | None
    expected_by: datetime | None
    expected_reason: str
    overdue: bool
    gaps: list[Gap]
    missing_months: list[str]
    restated_months: list[RestatedMonth]
    last_error: str
    page: str


class HealthAnswer(msgspec.Struct, frozen=True, kw_only=True):
    account: AccountRef
    summary: str
    today: date
    data_from: date | None
    data_through: date | None
    connections: list[ConnectionHealth]
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
