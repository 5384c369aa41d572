"""Writes on report schedules, and sending of due reports."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.alerts.services import deliver
from finops.alerts.services.delivery_rows import hold_channel
from finops.allocation.models import Team
from finops.cost_access.queries import limits_of_each
from finops.cost_access.resolution import access_of
from finops.costs.queries.sources import load_sources
from finops.exchange_rates.display import account_currencies, account_display
from finops.lib import clock
from finops.lib.errors import UserError, unknown_value
from finops.lib.fixed_window import seconds_to_wait
from finops.lib.formats.locales import DEFAULT_TIME_ZONE, time_zones
from finops.lib.periods import add_months
from finops.reports.message import report_message
from finops.reports.models import LAST_DAY, LAST_HOUR, ReportSchedule
from finops.reports.queries import build_report, resolve_scope
from finops.reports.report import Report, ReportQuery
from finops.worker.broker import publish

SEND_TASK: Final = "reports.send"
MAX_SCHEDULES: Final = 50
SENDS_AN_HOUR: Final = 5
DEADLINE: Final = 120.0
"""Seconds for all lake queries of one report."""


@dataclass(frozen=True, kw_only=True)
class ReportScheduleDraft:
    """The fields of a schedule. `team_id` None: the whole account. `day` and `hour` are in the month after the
    report's, in the time zone (an IANA name)."""

    channel_id: int
    team_id: int | None = None
    day: int
    hour: int = 0
    time_zone: str = DEFAULT_TIME_ZONE
    format: str = ReportSchedule.Format.EMAIL.value


@transaction.atomic
def create_report_schedule(*, account: Account, actor: Actor, draft: ReportScheduleDraft) -> ReportSchedule:
    """Create a schedule. Its first report is that of the current month.

    Raises UserError, with its field, for a channel or team that the account does not have, a channel other than
    email, a day that some months lack, an invalid hour, an unknown IANA time zone, a report that the channel already
    gets, and an account at its maximum.
    """
    with account_scope(account):
        lock_account(account)
        _check_room()
        row = ReportSchedule(
            account=account, created_by_id=actor.creator_id, created_at=clock.now(), **_checked_fields(draft)
        )
        row.sent_month = row.send_time.newest_month_due(clock.now())
        row.full_clean(exclude=["account"])
        row.save(force_insert=True)
        _record(row, actor, "create", _audit_snapshot(row))
    return row


@transaction.atomic
def change_report_schedule(
    *, schedule: ReportSchedule, actor: Actor, draft: ReportScheduleDraft, paused: bool
) -> ReportSchedule:
    """Change a schedule's channel, team, time and format, and pause or resume it. A month that was sent is not sent
    again; one whose new time has passed is sent at once. Without a difference nothing is written.

    Raises UserError as `create_report_schedule` does, and for a deleted schedule.
    """
    account = schedule.account
    with account_scope(account):
        lock_account(account)
        row = _lock(schedule)
        old = _audit_snapshot(row)
        for name, value in _checked_fields(draft, but=row.pk).items():
            setattr(row, name, value)
        _pause_or_resume(row, paused)
        new = _audit_snapshot(row)
        if new != old:
            row.full_clean(exclude=["account"])
            row.save()
            _record(row, actor, "change", {"from": old, "to": new})
    return row


@transaction.atomic
def pause_report_schedule(*, schedule: ReportSchedule, actor: Actor) -> None:
    """Pause a schedule. Idempotent. Raises UserError for a deleted schedule."""
    with account_scope(schedule.account):
        row = _lock(schedule)
        if _pause_or_resume(row, True):
            row.save()
            _record(row, actor, "pause")


@transaction.atomic
def resume_report_schedule(*, schedule: ReportSchedule, actor: Actor) -> None:
    """Resume a schedule, from the current month on. Idempotent. Raises UserError for a deleted schedule."""
    with account_scope(schedule.account):
        row = _lock(schedule)
        if _pause_or_resume(row, False):
            row.save()
            _record(row, actor, "resume")


def _pause_or_resume(row: ReportSchedule, paused: bool) -> bool:
    """Set or clear the pause without saving, and return whether it changed. Months of the pause are skipped."""
    if paused == (row.paused_at is not None):
        return False
    if paused:
        row.paused_at, row.requested_at = clock.now(), None
    else:
        row.paused_at, row.sent_month = None, row.send_time.newest_month_due(clock.now())
    return True


@transaction.atomic
def delete_report_schedule(*, schedule: ReportSchedule, actor: Actor) -> None:
    """Delete a schedule; its deliveries stay in the list. Raises UserError if it is already deleted."""
    with account_scope(schedule.account):
        row = _lock(schedule)
        _record(row, actor, "delete")
        row.delete()


def request_report(*, schedule: ReportSchedule, actor: Actor) -> None:
    """Request the report of the newest complete month within a minute. Raises UserError for a deleted or paused
    schedule, and for the sixth request of the account within an hour."""
    account = schedule.account
    if seconds_to_wait("report sends", f"account {account.pk}", limit=SENDS_AN_HOUR, seconds=3600):
        raise UserError(f"{SENDS_AN_HOUR} reports were sent manually within an hour. Try again later.")
    with transaction.atomic(), account_scope(account):
        row = _lock(schedule)
        if row.paused_at is not None:
            raise UserError("The schedule is paused. Resume it first.")
        row.requested_at = clock.now()
        row.save(update_fields=["requested_at"])
        _record(row, actor, "send")
        transaction.on_commit(lambda: publish(SEND_TASK, account.pk, row.pk, expires=300))


def schedules_due() -> list[tuple[int, int]]:
    """Return account and schedule of reports that a worker should send now. One query over all accounts."""
    # Unscoped: a sweep over all accounts.
    rows = ReportSchedule.objects.unscoped().filter(_may_be_due()).order_by("pk")
    return [(row.account_id, row.pk) for row in rows if _is_due(row)]


def send_if_due(*, account: Account, schedule_id: int) -> AlertDelivery | None:
    """Send a report that is due; None if it is not due, or cannot be created now, and the schedule has the reason.
    Safe to call repeatedly, concurrently, and after a kill at any moment: the month is saved with its delivery in one
    transaction."""
    with account_scope(account):
        rows = ReportSchedule.objects.filter(_may_be_due()).select_related("account", "team")
        row = rows.filter(pk=schedule_id).first()
        if row is None or not _is_due(row):
            return None
        try:
            with _access(row), account_display(account):
                return _send(row, _report(row))
        except UserError as problem:
            ReportSchedule.objects.filter(pk=row.pk).update(problem=problem.message)
            return None


@contextmanager
def _access(row: ReportSchedule) -> Iterator[None]:
    """The cost of the schedule's limits and of its channel's. Raises UserError if a limit cannot be applied."""
    limits = limits_of_each({"report_schedule": row.pk, "alert_channel": row.channel_id})
    with access_of(row.account, limits):
        if limits:
            row.account.currencies = account_currencies(row.account)
        yield


def _may_be_due() -> Q:
    """Return a superset of the schedules that `_is_due` accepts, in any time zone, without any that were sent."""
    today = clock.today()
    month = add_months(today, -1)
    near = Q(day__lte=today.day + 1, sent_month__lt=month)
    by_time = near | Q(sent_month=None) | Q(sent_month__lt=add_months(month, -1))
    return Q(paused_at=None) & (Q(requested_at__isnull=False) | by_time)


def _is_due(row: ReportSchedule) -> bool:
    return row.requested_at is not None or row.send_time.is_due(row.sent_month, clock.now())


def _month_to_send(row: ReportSchedule) -> date:
    """Return the newest due month that was not sent; for a manual request, the newest complete one."""
    now = clock.now()
    if row.send_time.is_due(row.sent_month, now):
        return row.send_time.newest_month_due(now)
    return add_months(now.date(), -1)


def _report(row: ReportSchedule) -> Report:
    sources = load_sources(row.account)
    team = row.team.name if row.team is not None else ""
    query = ReportQuery(month=f"{_month_to_send(row):%Y-%m}", team=team)
    scope = resolve_scope(row.account, query, sources)
    return build_report(
        row.account,
        scope,
        sources=sources,
        deadline=time.monotonic() + DEADLINE,
        with_originals=row.format == ReportSchedule.Format.EMAIL_CSV,
    )


_SENT_AS: Final = ("channel_id", "team_id", "format", "sent_month", "requested_at", "paused_at")
"""The fields that a report depends on: if one changes while it is created, it is created again."""


@transaction.atomic
def _send(snapshot: ReportSchedule, report: Report) -> AlertDelivery | None:
    """Send the report; None if another process sent, changed, paused or deleted it meanwhile. Concurrent calls queue."""
    hold_channel(snapshot.channel_id)
    rows = ReportSchedule.objects.select_for_update(of=("self",), no_key=True).select_related(
        "account", "channel"
    )
    row = rows.filter(pk=snapshot.pk, **{name: getattr(snapshot, name) for name in _SENT_AS}).first()
    if row is None or not _is_due(row):
        return None
    message = report_message(
        report, schedule_id=row.pk, with_csv=row.format == ReportSchedule.Format.EMAIL_CSV
    )
    row.delivery = deliver(account=row.account, channel=row.channel, message=message)
    if row.send_time.is_due(row.sent_month, clock.now()):
        row.sent_month = report.scope.month
    row.sent_at, row.requested_at, row.problem = clock.now(), None, ""
    row.save(update_fields=["delivery", "sent_month", "sent_at", "requested_at", "problem"])
    return row.delivery


def schedule_text(row: ReportSchedule) -> str:
    """Describe a schedule: `Core, to Finance`. Load its channel and team first."""
    return f"{row.team.name if row.team is not None else 'Whole account'}, to {row.channel.name}"


def _lock(schedule: ReportSchedule) -> ReportSchedule:
    rows: QuerySet[ReportSchedule] = ReportSchedule.objects.select_for_update(of=("self",))
    return existing(rows.select_related("account", "channel", "team"), schedule, "schedule")


def _channel(channel_id: int) -> AlertChannel:
    channel = AlertChannel.objects.filter(pk=channel_id).first()
    if channel is None:
        raise UserError("channel: choose a channel of this account.", field="channel", value=channel_id)
    if channel.kind != AlertChannel.Kind.EMAIL:
        raise UserError(
            f"channel: {channel.name!r} is not an email channel. Reports are sent by email.",
            field="channel",
            value=channel_id,
        )
    return channel


def _team(team_id: int | None) -> Team | None:
    if team_id is None:
        return None
    team = Team.objects.filter(pk=team_id).first()
    if team is None:
        raise UserError("team: choose a team of this account.", field="team", value=team_id)
    return team


def _checked_fields(draft: ReportScheduleDraft, *, but: int = 0) -> dict[str, Any]:
    """Return the fields of a row, all of the account in scope. `but`: the schedule that is changed."""
    channel, team = _channel(draft.channel_id), _team(draft.team_id)
    if not 1 <= draft.day <= LAST_DAY:
        raise UserError(f"day: {draft.day} is not from 1 to {LAST_DAY}.", field="day", value=draft.day)
    if not 0 <= draft.hour <= LAST_HOUR:
        raise UserError(f"hour: {draft.hour} is not from 0 to {LAST_HOUR}.", field="hour", value=draft.hour)
    if draft.time_zone not in time_zones():
        raise UserError(
            f"{draft.time_zone[:64]!r} is not a time zone. Choose one from the list, such as Europe/Berlin.",
            field="time_zone",
        )
    if draft.format not in ReportSchedule.Format.values:
        raise unknown_value("format", draft.format, ReportSchedule.Format.values)
    if ReportSchedule.objects.exclude(pk=but).filter(channel=channel, team=team).exists():
        raise UserError(f"channel: {channel.name!r} already gets this report.", field="channel")
    return {
        "channel": channel,
        "team": team,
        "day": draft.day,
        "hour": draft.hour,
        "time_zone": draft.time_zone,
        "format": draft.format,
    }


def _check_room() -> None:
    count = ReportSchedule.objects.count()
    if count >= MAX_SCHEDULES:
        raise UserError(
            f"The account has {count} report schedules; the maximum is {MAX_SCHEDULES}. Delete one first."
        )


def _audit_snapshot(row: ReportSchedule) -> dict[str, Any]:
    """Return the settings for the audit log."""
    return {
        "channel": row.channel.name,
        "team": row.team.name if row.team is not None else "",
        "day": row.day,
        "time": f"{row.hour:02}:00",
        "time_zone": row.time_zone,
        "format": row.format,
        "paused": row.paused_at is not None,
    }


def _record(row: ReportSchedule, actor: Actor, verb: str, detail: dict[str, Any] | None = None) -> None:
    audit.record(
        account=row.account,
        actor=actor,
        action=f"report_schedule.{verb}",
        target=schedule_text(row),
        detail={"id": row.pk, **(detail or {"day": row.day})},
    )
