"""Pages of reports beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.reports.views import report, schedules

SCHEDULE = "reports/schedules/<int:schedule_id>/"

urlpatterns = [
    path("reports/", report.index, name="report"),
    path("reports/schedules/", schedules.index, name="report_schedules"),
    path("reports/schedules/new/", schedules.new, name="report_schedule_new"),
    path(f"{SCHEDULE}edit/", schedules.edit, name="report_schedule_edit"),
    path(f"{SCHEDULE}pause/", schedules.pause, name="report_schedule_pause"),
    path(f"{SCHEDULE}resume/", schedules.resume, name="report_schedule_resume"),
    path(f"{SCHEDULE}send/", schedules.send, name="report_schedule_send"),
    path(f"{SCHEDULE}delete/", schedules.delete, name="report_schedule_delete"),
]
