"""Dimensions that anomaly alerts monitor: an alert turns one on, and the result when it is deleted."""

from __future__ import annotations

import pytest

from accounts.models import Account, AuditEntry
from finops.alerts import queries
from finops.allocation.cost_tags.uses import uses_of
from finops.allocation.models import CostTag, Team
from finops.allocation.services.cost_tags import delete_cost_tag
from finops.insights.anomalies.queries import anomaly_settings
from finops.insights.models import AnomalySettings
from finops.lib.errors import UserError
from tests.cast import ACTOR
from tests.factories.alerts import create_subscription, subscribe, subscribe_to_anomalies

pytestmark = pytest.mark.django_db


def test_anomalies_by_team_are_monitored_once_an_alert_is_of_a_team(acme: Account) -> None:
    Team.objects.create(account=acme, name="Core")
    AnomalySettings.objects.create(account=acme, watches=["region"], minimum_impacts={"USD": "5"})

    subscription = create_subscription(acme, "anomaly", scope="team", team="Core")

    (note,) = subscription.notes
    assert note.startswith("Anomalies by team are now monitored")
    assert anomaly_settings(acme).watches == ["region", "team"]
    assert anomaly_settings(acme).minimum_impacts == {"USD": "5"}
    assert AuditEntry.objects.filter(action="anomaly_settings.change").count() == 1


def test_a_dimension_that_is_monitored_is_left_alone(acme: Account) -> None:
    CostTag.objects.create(account=acme, key="Ring")
    AnomalySettings.objects.create(account=acme, watches=["cost_tag:Ring"])

    subscription = create_subscription(
        acme, "anomaly", scope="cost_tag", cost_tag="ring", cost_tag_value="Inner"
    )

    assert subscription.notes == ()
    assert anomaly_settings(acme).watches == ["cost_tag:Ring"]


def test_beyond_five_monitored_dimensions_a_sixth_is_refused_with_instructions(acme: Account) -> None:
    Team.objects.create(account=acme, name="Core")
    watches = ["region", "provider", "account", "product", "actor"]
    AnomalySettings.objects.create(account=acme, watches=watches)

    with pytest.raises(UserError, match="already monitors the maximum of 5 other dimensions") as problem:
        subscribe(acme, "anomaly", scope="team", team="Core")

    assert "Remove one in Anomalies, Settings." in problem.value.message
    assert anomaly_settings(acme).watches == watches


def test_a_subscription_whose_dimension_is_no_longer_monitored_has_a_note(acme: Account) -> None:
    Team.objects.create(account=acme, name="Core")
    subscribe_to_anomalies(acme, scope="team", team="Core")
    AnomalySettings.objects.update(watches=[])

    (row,) = queries.every_subscription(acme)

    assert "no longer monitors anomalies by team" in row.warning


def test_a_cost_tag_of_an_alert_is_not_deleted(acme: Account) -> None:
    tag = CostTag.objects.create(account=acme, key="Ring")
    subscribe_to_anomalies(acme, 100, scope="cost_tag", cost_tag="ring", cost_tag_value="Inner")

    assert uses_of(acme, "cost_tag:ring") == [
        "alert 'Anomalies of cost tag value Ring: Inner from 100.00 USD on, to Ops'"
    ]
    with pytest.raises(UserError, match="alert 'Anomalies of cost tag value Ring"):
        delete_cost_tag(cost_tag=tag, actor=ACTOR)
