from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from accounts.models import Account
from finops.alerts.models import AlertChannel
from finops.allocation.models import Team, TeamKey, TeamValue
from finops.reports import services
from finops.reports.models import ReportSchedule
from finops.reports.services import ReportScheduleDraft
from finops.unitcosts.models import UnitMetric
from tests.cast import ACTOR
from tests.factories.budgets import create_budget, daily_cost, team_scope
from tests.factories.costs import Line, add_source
from tests.factories.days import days
from tests.factories.deliveries import create_mail_channel
from tests.factories.usage import add_usage, event

FIRST, LAST = date(2025, 12, 1), date(2026, 3, 19)
FEBRUARY = date(2026, 2, 1), date(2026, 2, 28)


def bill() -> list[Line]:
    """From December: Compute of Core 10.25 USD a day, 20.50 in February; Storage of nobody 1.10; Support 3 of Core."""
    core = {"tags": {"team": "core"}}
    return [
        *daily_cost(FIRST, date(2026, 1, 31), "10.25", service="Compute", service_category="Compute", **core),
        *daily_cost(*FEBRUARY, "20.50", service="Compute", service_category="Compute", **core),
        *daily_cost(date(2026, 3, 1), LAST, "10.25", service="Compute", service_category="Compute", **core),
        *daily_cost(FIRST, LAST, "1.10", service="Storage", service_category="Storage"),
        *daily_cost(FIRST, LAST, "3", service="Support", service_category="Other", **core),
    ]


@pytest.fixture
def account_with_report(acme: Account) -> Account:
    """Four months of cost, of which Core owns most; a budget of the account and one of Core; a unit metric."""
    add_source(acme, bill())
    TeamKey.objects.create(account=acme, dimension="tag:team")
    team = Team.objects.create(account=acme, name="Core")
    TeamValue.objects.create(account=acme, team=team, value="core")
    create_budget(acme, "Everything", 600)
    create_budget(acme, "Core cloud", 700, scope=team_scope(team))
    add_usage(acme, [event(day, "globex", 100) for day in days(date(2026, 1, 1), LAST)])
    UnitMetric.objects.create(account=acme, name="Cost per call", usage_metric="requests")
    return acme


@pytest.fixture
def channel(account_with_report: Account) -> AlertChannel:
    return create_mail_channel(account_with_report, "cfo@example.com", name="Finance")


def draft(channel: AlertChannel, **fields: Any) -> ReportScheduleDraft:
    return ReportScheduleDraft(**{"channel_id": channel.pk, "day": 5, **fields})


def create_schedule(channel: AlertChannel, **fields: Any) -> ReportSchedule:
    return services.create_report_schedule(
        account=channel.account, actor=ACTOR, draft=draft(channel, **fields)
    )


def change_schedule(schedule: ReportSchedule, *, paused: bool = False, **fields: Any) -> ReportSchedule:
    return services.change_report_schedule(
        schedule=schedule, actor=ACTOR, draft=draft(schedule.channel, **fields), paused=paused
    )
