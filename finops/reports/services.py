"""Writes on schedules of reports, and sending what is due."""

from __future__ import annotations

import time
from datetime import date
from typing import Final

from django.db import transaction
from django.db.models import Q, QuerySet

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.alerts.models import AlertChannel, AlertDelivery
from finops.alerts.services import deliver
from finops.alerts.services.deliveries import hold_channel
from finops.allocation.models import Team
from finops.costs.queries.sources import load_sources
from finops.exchange_rates.display import account_display
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.fixed_window import seconds_to_wait
from finops.lib.periods import add_months
from finops.reports.message import report_message
from finops.reports.models import LAST_DAY, ReportSchedule
from finops.reports.queries import build_report, resolve_scope
from finops.reports.report import Report, ReportQuery
from finops.reports.schedule_days import newest_month_due
from finops.worker.broker import publish

SEND_TASK: Final = "reports.send"
MAX_SCHEDULES: Final = 50
SENDS_AN_HOUR: Final = 5
DEADLINE: Final = 120.0
"""Seconds for the lake's questions of one report."""


@transaction.atomic
def create_report_schedule(
    *, account: Account, actor: Actor, channel_id: int, team_id: int | None, day: int
) -> ReportSchedule:
    """Mail the report of each month on `day` of the next; the first is of the month that goes on. `team_id` None: of the whole
    account.

    Raises UserError, with its field, for a channel or team that the account does not have, a channel that is no e-mail, a day
    that some month lacks, a report that the channel gets already, and a full account.
    """
    with account_scope(account):
        lock_account(account)
        channel, team = _channel(channel_id), _team(team_id)
        _check_day(day)
        _check_is_new(channel, team)
        row = ReportSchedule(
            account=account,
            channel=channel,
            team=team,
            day=day,
            sent_month=newest_month_due(day, clock.today()),
            created_by=actor.user,
            created_at=clock.now(),
        )
        row.full_clean(exclude=["account"])
        row.save(force_insert=True)
        _record(row, actor, "create")
    return row


@transaction.atomic
def pause_report_schedule(*, schedule: ReportSchedule, actor: Actor) -> None:
    """Send nothing until it is resumed. Twice is once. UserError for one that is gone."""
    with account_scope(schedule.account):
        row = _lock(schedule)
        if row.paused_at is None:
            row.paused_at, row.requested_at = clock.now(), None
            row.save(update_fields=["paused_at", "requested_at"])
            _record(row, actor, "pause")


@transaction.atomic
def resume_report_schedule(*, schedule: ReportSchedule, actor: Actor) -> None:
    """Send again, from the month that goes on. Twice is once. UserError for one that is gone."""
    with account_scope(schedule.account):
        row = _lock(schedule)
        if row.paused_at is not None:
            row.paused_at, row.sent_month = None, newest_month_due(row.day, clock.today())
            row.save(update_fields=["paused_at", "sent_month"])
            _record(row, actor, "resume")


@transaction.atomic
def delete_report_schedule(*, schedule: ReportSchedule, actor: Actor) -> None:
    """Remove it; what it sent stays in the list of deliveries. UserError for one that is gone."""
    with account_scope(schedule.account):
        row = _lock(schedule)
        _record(row, actor, "delete")
        row.delete()


def request_report(*, schedule: ReportSchedule, actor: Actor) -> None:
    """Send the report of the newest month that is over, within a minute. Raises UserError for one that is gone or paused, and
    for the sixth of the account within an hour."""
    account = schedule.account
    if seconds_to_wait("report sends", f"account {account.pk}", limit=SENDS_AN_HOUR, seconds=3600):
        raise UserError(f"{SENDS_AN_HOUR} reports were sent by hand within an hour. Try again later.")
    with transaction.atomic(), account_scope(account):
        row = _lock(schedule)
        if row.paused_at is not None:
            raise UserError("The schedule is paused. Resume it first.")
        row.requested_at = clock.now()
        row.save(update_fields=["requested_at"])
        _record(row, actor, "send")
        transaction.on_commit(lambda: publish(SEND_TASK, account.pk, row.pk, expires=300))


def schedules_due() -> list[tuple[int, int]]:
    """Account and schedule of what some worker should send now. One query over all accounts."""
    # Unscoped: a sweep over all accounts.
    rows = ReportSchedule.objects.unscoped().filter(_due(clock.today()))
    return list(rows.order_by("pk").values_list("account_id", "pk"))


def send_if_due(*, account: Account, schedule_id: int) -> AlertDelivery | None:
    """Mail a report that is due; None for one that is not, or that cannot be made now, whose schedule then says why. Safe to
    call twice, at once, and after a kill at any moment: the month is noted with its delivery in one transaction."""
    with account_scope(account), account_display(account):
        rows = ReportSchedule.objects.filter(_due(clock.today())).select_related("account", "team")
        row = rows.filter(pk=schedule_id).first()
        if row is None:
            return None
        try:
            report = _report(row)
        except UserError as problem:
            ReportSchedule.objects.filter(pk=row.pk).update(problem=problem.message)
            return None
        return _send(row, report)


def _due(today: date) -> Q:
    """Those that are not paused and were asked for, or whose day has come for a month that was not sent."""
    month = add_months(today, -1)
    by_day = Q(day__lte=today.day) & (Q(sent_month=None) | Q(sent_month__lt=month))
    return Q(paused_at=None) & (Q(requested_at__isnull=False) | by_day)


def _report(row: ReportSchedule) -> Report:
    """Of the month before this one."""
    sources = load_sources(row.account)
    month = f"{add_months(clock.today(), -1):%Y-%m}"
    team = row.team.name if row.team is not None else ""
    scope = resolve_scope(row.account, ReportQuery(month=month, team=team), sources)
    return build_report(row.account, scope, sources=sources, deadline=time.monotonic() + DEADLINE)


@transaction.atomic
def _send(snapshot: ReportSchedule, report: Report) -> AlertDelivery | None:
    """None when somebody else sent, paused or deleted it meanwhile. Two that send the same wait for each other."""
    hold_channel(snapshot.channel_id)
    rows = ReportSchedule.objects.select_for_update(of=("self",), no_key=True).select_related(
        "account", "channel"
    )
    row = rows.filter(
        _due(clock.today()),
        pk=snapshot.pk,
        sent_month=snapshot.sent_month,
        requested_at=snapshot.requested_at,
    ).first()
    if row is None:
        return None
    message = report_message(report, schedule_id=row.pk)
    row.delivery = deliver(account=row.account, channel=row.channel, message=message)
    row.sent_month, row.sent_at = report.scope.month, clock.now()
    row.requested_at, row.problem = None, ""
    row.save(update_fields=["delivery", "sent_month", "sent_at", "requested_at", "problem"])
    return row.delivery


def schedule_text(row: ReportSchedule) -> str:
    """`Core, to Finance`; its channel and team should be loaded."""
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
            f"channel: {channel.name!r} is not an e-mail channel. Reports are sent by e-mail.",
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


def _check_day(day: int) -> None:
    if not 1 <= day <= LAST_DAY:
        raise UserError(f"day: {day} is not from 1 to {LAST_DAY}.", field="day", value=day)


def _check_is_new(channel: AlertChannel, team: Team | None) -> None:
    if ReportSchedule.objects.filter(channel=channel, team=team).exists():
        raise UserError(f"channel: {channel.name!r} already gets this report.", field="channel")
    count = ReportSchedule.objects.count()
    if count >= MAX_SCHEDULES:
        raise UserError(
            f"The account has {count} report schedules; the maximum is {MAX_SCHEDULES}. Delete one first."
        )


def _record(row: ReportSchedule, actor: Actor, verb: str) -> None:
    audit.record(
        account=row.account,
        actor=actor,
        action=f"report_schedule.{verb}",
        target=schedule_text(row),
        detail={"id": row.pk, "day": row.day},
    )
