"""Who is mailed a report: the list, a new schedule, pausing, sending now, deleting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.audit import Actor
from accounts.doors import AccountRequest, account_page
from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from finops.lib import clock
from finops.lib.listing import Column, ListPage
from finops.reports import services
from finops.reports.forms import ReportScheduleForm
from finops.reports.models import ReportSchedule
from finops.reports.schedule_days import next_date


@dataclass(frozen=True)
class ScheduleRow:
    """A schedule as the list shows it."""

    schedule: ReportSchedule

    @property
    def about(self) -> str:
        return self.schedule.team.name if self.schedule.team is not None else "Whole account"

    @property
    def state(self) -> str:
        return "paused" if self.schedule.paused_at else "active"

    @property
    def next_on(self) -> date | None:
        if self.schedule.paused_at:
            return None
        return next_date(self.schedule.day, self.schedule.sent_month, clock.today())

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
        Column("day", "Day", lambda row: row.schedule.day, numeric=True),
        Column("state", "State", lambda row: row.state, css="nowrap"),
        Column("next", "Next", lambda row: row.next_on, css="nowrap"),
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
    """A form filled from the URL (`?team=3`); a POST makes the schedule."""
    form = ReportScheduleForm(request.POST or None, initial=request.GET.dict())
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            services.create_report_schedule(account=request.account, actor=request.actor, **form.draft())
            messages.success(request, "Schedule created.")
            return redirect("report_schedules", slug=request.account.slug)
    return render(request, "reports/schedule_form.html", {"form": form}, status=422 if form.errors else 200)


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
    rows = ReportSchedule.objects.select_related("account", "channel", "team")
    schedule = get_object_or_404(rows, pk=schedule_id)
    actor: Actor = request.actor
    with ErrorMessages(request):
        act(schedule=schedule, actor=actor)
        messages.success(request, done)
    return redirect("report_schedules", slug=request.account.slug)
