"""Registrations of reports with lower apps: schedules that are deleted with a channel or team."""

from __future__ import annotations

from django.db.models import Model, Q

from accounts.creations import CreationKind, add_creation_kind
from finops.alerts.models import AlertChannel
from finops.allocation.models import Team
from finops.costs.dependants import dependants
from finops.reports.models import ReportSchedule
from finops.reports.services import schedule_text

add_creation_kind(
    "report schedule",
    CreationKind(
        noun="report schedule",
        model=ReportSchedule,
        reader="report_schedule",
        related=("channel", "team"),
        name=schedule_text,
    ),
)


@dependants.register("report schedule")
def schedules_of_row(row: Model) -> list[str]:
    if not isinstance(row, AlertChannel | Team):
        return []
    which = Q(channel=row) if isinstance(row, AlertChannel) else Q(team=row)
    rows = ReportSchedule.objects.filter(which).select_related("channel", "team")
    return [schedule_text(each) for each in rows]
