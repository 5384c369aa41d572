"""Registrations of reports with lower apps: schedules that are deleted with a channel or team."""

from __future__ import annotations

from django.db.models import Model, Q

from finops.alerts.models import AlertChannel
from finops.allocation.models import Team
from finops.costs.dependants import dependants
from finops.reports.models import ReportSchedule
from finops.reports.services import schedule_text


@dependants.register("report schedule")
def schedules_of_row(row: Model) -> list[str]:
    if not isinstance(row, AlertChannel | Team):
        return []
    which = Q(channel=row) if isinstance(row, AlertChannel) else Q(team=row)
    rows = ReportSchedule.objects.filter(which).select_related("channel", "team")
    return [schedule_text(each) for each in rows]
