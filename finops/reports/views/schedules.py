"""Schedules of reports: the list, and the actions to create, edit, pause, send and delete one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.audit import Actor
from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.lib import clock
from finops.lib.formats.locales import DEFAULT_TIME_ZONE, time_zones
from finops.lib.listing import Column, ListPage
from finops.reports import services
from finops.reports.forms import ReportScheduleForm, settings_of
from finops.reports.models import ReportSchedule


@dataclass(frozen=True)
class ScheduleRow:
    """A row of the list of schedules."""

    schedule: ReportSchedule

    @property
    def about(self) -> str:
        return self.schedule.team.name if self.schedule.team is not None else "Whole account"

    @property
    def state(self) -> str:
        return "paused" if self.schedule.paused_at else "active"

    @property
    def next_at(self) -> datetime | None:
        if self.schedule.paused_at:
            return None
        return self.schedule.send_time.next_moment(self.schedule.sent_month, clock.now())

    @property
    def last_delivery(self) -> int | None:
        return self.schedule.delivery_id


SCHEDULES = ListPage[ScheduleRow](
    name="report-schedules",
    title="Report schedules",
    noun="schedule",
    order="about",
    columns=[
        Column("about", "Report", lambda row: row.about),
        Column("channel", "Channel", lambda row: row.schedule.channel.name, css="cell-name"),
        Column("day", "Day", lambda row: row.schedule.day, css="nowrap"),
        Column("time", "Time", lambda row: f"{row.schedule.hour:02}:00", shown=False),
        Column("zone", "Time zone", lambda row: row.schedule.time_zone, shown=False),
        Column("format", "Format", lambda row: row.schedule.get_format_display(), shown=False),
        Column("state", "State", lambda row: row.state, css="nowrap"),
        Column("next", "Next", lambda row: row.next_at, css="nowrap"),
        Column("sent", "Last sent", lambda row: row.schedule.sent_at, format="ago", css="nowrap"),
        Column("problem", "Problem", lambda row: row.schedule.problem, shown=False),
    ],
    actions="Actions",
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    rows = ReportSchedule.objects.select_related("channel", "team")
    every = [ScheduleRow(each) for each in rows]
    return SCHEDULES.response(request, every, "reports/schedules.html")


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    """Show a form filled in from the URL (`?team=3`); a POST creates the schedule."""
    first = {"time_zone": request.user.time_zone or DEFAULT_TIME_ZONE, **request.GET.dict()}
    form = ReportScheduleForm(request.POST or None, initial=first, is_new=True)
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            services.create_report_schedule(account=request.account, actor=request.actor, draft=form.draft())
            messages.success(request, "Schedule created.")
            return redirect("report_schedules", slug=request.account.slug)
    return _form_page(request, form)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, schedule_id: int) -> HttpResponse:
    schedule = _schedule_of(schedule_id)
    form = ReportScheduleForm(request.POST or None, initial=settings_of(schedule), is_new=False)
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            services.change_report_schedule(
                schedule=schedule,
                actor=request.actor,
                draft=form.draft(),
                paused=form.cleaned_data["paused"],
            )
            messages.success(request, "Schedule updated.")
            return redirect("report_schedules", slug=request.account.slug)
    return _form_page(request, form, schedule)


def _form_page(
    request: AccountRequest, form: ReportScheduleForm, schedule: ReportSchedule | None = None
) -> HttpResponse:
    context = {"form": form, "schedule": schedule, "time_zones": sorted(time_zones())}
    return render(request, "reports/schedule_form.html", context, status=422 if form.errors else 200)


def _schedule_of(schedule_id: int) -> ReportSchedule:
    rows = ReportSchedule.objects.select_related("account", "channel", "team")
    return get_object_or_404(rows, pk=schedule_id)


@account_page(Role.MEMBER)
@require_POST
def pause(request: AccountRequest, schedule_id: int) -> HttpResponse:
    return _change(request, schedule_id, services.pause_report_schedule, "Schedule paused.")


@account_page(Role.MEMBER)
@require_POST
def resume(request: AccountRequest, schedule_id: int) -> HttpResponse:
    return _change(request, schedule_id, services.resume_report_schedule, "Schedule resumed.")


@account_page(Role.MEMBER)
@require_POST
def send(request: AccountRequest, schedule_id: int) -> HttpResponse:
    done = "The report is being sent. See Deliveries on the Alerts page."
    return _change(request, schedule_id, services.request_report, done)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, schedule_id: int) -> HttpResponse:
    return _change(request, schedule_id, services.delete_report_schedule, "Schedule deleted.")


def _change(request: AccountRequest, schedule_id: int, act: Callable[..., Any], done: str) -> HttpResponse:
    schedule = _schedule_of(schedule_id)
    actor: Actor = request.actor
    with ErrorMessages(request):
        act(schedule=schedule, actor=actor)
        messages.success(request, done)
    return redirect("report_schedules", slug=request.account.slug)
