"""Equal settings of two accounts, and stored data about lines outside of a limit in one of them
(tests/factories/cost_access.py)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any, Final

from accounts.models import Account
from finops.allocation.models import Team
from finops.allocation.rules import Copy, Rule
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.splits import SplitDraft, create_split
from finops.budgets.scopes import ScopeDraft
from finops.change_events.models import ChangeEvent, EventSource
from finops.costs.models import CostSource, InvoiceTotal
from finops.costs.services.saved_views import create_saved_view
from finops.costs.spend_query import SpendQuery
from finops.dashboards.widgets import CATALOGUE
from finops.insights.models import ImportedSaving, SavingsDismissal
from finops.lib import clock
from finops.notifications.models import Notification
from finops.notifications.services import notify
from finops.unitcosts.models import CustomerKey
from finops.unitcosts.services.unit_metrics import create_unit_metric
from finops.unitcosts.unit_cost_query import UnitCostQuery
from tests.cast import ACTOR
from tests.factories.alerts import create_channel, subscribe, subscribe_to_budget
from tests.factories.anomalies import add_anomaly
from tests.factories.budgets import create_budget, team_scope
from tests.factories.dashboards import REQUIRED_SETTINGS, create_board, widget
from tests.factories.days import days
from tests.factories.usage import add_usage, event

BOARD: Final = "Every widget"


def add_settings(account: Account, team: Team) -> None:
    """Create a cost tag, split, usage, unit metric, budget of the team, saved view, and a board of every widget. The
    account must be in scope."""
    create_cost_tag(account=account, actor=ACTOR, key="env", rules=[Rule(copy=Copy(keys=("env",)))])
    create_split(
        account=account,
        actor=ACTOR,
        draft=SplitDraft("Storage", "service", "Storage", "even", targets=[("Compute", "")]),
    )
    add_usage(account, [event(day, "prod", 100) for day in days(date(2026, 2, 1), date(2026, 3, 18))])
    CustomerKey.objects.create(account=account, dimension="tag:env")
    create_unit_metric(
        account=account,
        actor=ACTOR,
        name="Per request",
        question=UnitCostQuery(usage_metric="requests", period="last_30_days"),
    )
    core = create_budget(account, "Core budget", 400, scope=team_scope(team.pk))
    create_channel(account)
    subscribe_to_budget(account, core.pk, 80, 100)
    add_events(account, "Pipeline", EVENTS_OF_CORE)
    create_saved_view(account=account, actor=ACTOR, name="By service", query=SpendQuery(group_by=["service"]))
    settings: dict[str, dict[str, Any]] = {**REQUIRED_SETTINGS, "text": {"text": "Reviewed on Mondays"}}
    create_board(account, BOARD, *[widget(name, **settings.get(name, {})) for name in CATALOGUE])


EVENTS_OF_CORE: Final[list[tuple[str, dict[str, list[str]]]]] = [
    ("core release", {"team": ["core"]}),
    ("core compute", {"service": ["Compute"], "team": ["Core"]}),
    ("core storage", {"team": ["CORE"], "region": ["eu-central-1"]}),
]


def add_events(account: Account, source: str, events: Sequence[tuple[str, dict[str, list[str]]]]) -> None:
    """Create a change event for each title and scope, on days of March 2026; notes if `source` is empty."""
    row = EventSource.objects.get_or_create(account=account, name=source)[0] if source else None
    for place, (title, scope) in enumerate(events):
        ChangeEvent.objects.create(
            account=account,
            origin="source" if row else "note",
            source=row,
            occurred_at=datetime(2026, 3, 8 + place, 9, tzinfo=UTC),
            kind="deployment" if place % 2 else "release",
            title=title,
            scope=scope,
        )


def add_stored_secrets(account: Account, secret: str) -> None:
    """Store data of workers and people about lines outside of the limit, with `secret` in each text. The account must
    be in scope."""
    source = CostSource.objects.get(name=f"{secret} source")
    other = create_budget(account, f"{secret} budget", 100, scope=ScopeDraft(scope="account"))
    subscribe_to_budget(account, other.pk, 50)
    subscribe(account, "digest")
    subscribe(account, "anomaly", scope="cost_source", cost_source=source.pk)
    add_anomaly(
        account,
        source,
        key=f"anom_{secret}",
        value=f"{secret} service",
        currency="USD",
        kind="spike",
        severity="high",
        first_day=date(2026, 3, 10),
        last_day=date(2026, 3, 12),
        actual=3000,
        expected=1000,
        impact=2000,
        month_end_impact=2000,
        days=[["2026-03-10", "3000.77", "1000", "0", "2000"]],
    )
    for resource in (f"{secret}-i", "i-1"):
        ImportedSaving.objects.create(
            account=account,
            source=source,
            recommendation_id=f"{secret} {resource}",
            action="Rightsize",
            resource_id=resource,
            current=secret,
            recommended=secret,
            sub_account=f"{secret}-222",
            monthly_cost=700,
            monthly_saving=300,
            currency="USD",
            refreshed_at=clock.now(),
        )
    for status in ("dismissed", "acted"):
        SavingsDismissal.objects.create(
            account=account,
            key=f"sav_{secret}{status}",
            status=status,
            reason=secret,
            rule="volume_type",
            title=f"{secret} volume",
            currency="USD",
            monthly_cost=1000,
            scope={"source": "1", "currency": "USD", "resources": ["i-1"]},
            acted_on=date(2026, 3, 1) if status == "acted" else None,
        )
    scopes: list[dict[str, list[str]]] = [
        {},
        {"team": ["Core", secret]},
        {"team": [secret]},
        {"service": ["Compute"]},
        {"team": []},
        {"tag:team": ["core"]},
    ]
    add_events(account, f"{secret} pipeline", [(f"{secret} release", scope) for scope in scopes])
    add_events(account, "", [(f"{secret} note", scope) for scope in scopes])
    InvoiceTotal.objects.create(
        account=account,
        issuer=secret,
        invoice_id=f"{secret}-1",
        billing_period=date(2026, 2, 1),
        currency="USD",
        amount=1000,
    )
    notify(account=account, kind=Notification.Kind.SYNC, title=secret, path=f"/a/{account.slug}/", key=secret)
