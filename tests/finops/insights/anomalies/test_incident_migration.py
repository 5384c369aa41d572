"""Anomalies of before there were incidents: each primary one becomes an incident with its review and its views."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts.scoping import account_scope
from finops.costs.models import CostSource
from finops.insights.anomalies.display import figures_of_incident
from finops.insights.models import Anomaly
from tests.cast import Cast

# The migration is history: the data of the version before this one, which tests/upgrades loads, has incidents.
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.long]


def migrate(to: str) -> Any:
    executor = MigrationExecutor(connection)
    return executor.migrate([("insights", to)]).apps


def migrate_on() -> None:
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes())


@pytest.fixture
def old_state(cast: Cast) -> Iterator[Any]:
    yield migrate("0008_wording")
    migrate_on()


def test_primary_and_views_become_one_incident_with_the_review(old_state: Any, cast: Cast) -> None:
    with account_scope(cast.account):
        source = CostSource.objects.create(account=cast.account, name="AWS")
    model = old_state.get_model("insights", "Anomaly")
    columns = {
        "account_id": cast.account.pk,
        "source_id": source.pk,
        "currency": "USD",
        "kind": "spike",
        "severity": "low",
        "state": "resolved",
        "note": "Scaled down",
        "marked_by_label": "Ada",
        "first_day": date(2026, 3, 1),
        "last_day": date(2026, 3, 2),
        "actual": 130,
        "expected": 30,
        "impact": 100,
        "month_end_impact": 100,
        "days": [["2026-02-28", "9", "9", "9", "9"], ["2026-03-01", "60", "15", "10.5", "20"], ["2026-03-02", "70", "15", "10", "20"]],
    }  # fmt: skip
    primary = model.objects.create(key="anom_1", value="Compute", shared_impact=3, **columns)
    model.objects.create(key="anom_2", value="Core", dimension="team", primary=primary, **columns)

    migrate_on()

    with account_scope(cast.account):
        service, team = Anomaly.objects.select_related("incident").order_by("key")
        incident = service.incident
        assert incident is not None
        assert incident == team.incident
        assert (incident.key, incident.headline_id, service.is_counted, team.is_counted) == (
            "anom_1",
            service.pk,
            True,
            False,
        )
        assert (incident.state, incident.note, incident.marked_by_label) == ("resolved", "Scaled down", "Ada")
        assert (incident.impact, figures_of_incident(incident).own_impact) == (Decimal(100), Decimal(97))
        assert (incident.expected_low, incident.expected_high) == (Decimal("20.5"), Decimal(40))
