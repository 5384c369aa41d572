"""Alert subscriptions in configuration as code: found by channel, trigger and what they are about."""

from __future__ import annotations

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts.models import AlertSubscription
from finops.alerts.services import create_alert_subscription, create_channel, pause_alert_subscription
from finops.alerts.subscription_drafts import SubscriptionDraft
from finops.configuration.services import apply_configuration, export_configuration, plan_configuration
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast
from tests.isolation.discovery import fingerprint

FILE = """\
version: 1
teams:
  - {name: Core, values: [core]}
saved_views:
  - {name: Services, question: {period: last_30_days, group_by: [service]}}
budgets:
  - {name: Everything, amount: 1000, currency: USD}
alerts:
  - {channel: Ops, trigger: budget, budget: Everything}
  - {channel: Ops, trigger: budget, budget: Everything, thresholds: [100], measure: forecast}
  - {channel: Ops, trigger: anomaly, minimum_impact: 50.00, currency: USD}
  - {channel: Ops, trigger: anomaly, team: Core}
  - {channel: Ops, trigger: digest, frequency: weekly, paused: true}
  - {channel: Ops, trigger: source}
  - {channel: Ops, trigger: view_change, saved_view: Services, frequency: weekly, minimum_percent: 20}
"""


def add_channel(account: Account, name: str = "Ops") -> None:
    with account_scope(account):
        create_channel(
            account=account, actor=ACTOR, name=name, kind="email", target={"addresses": ["ops@example.com"]}
        )


@pytest.fixture
def account_with_alerts(acme: Account) -> Account:
    add_channel(acme)
    apply_configuration(account=acme, actor=ACTOR, text=FILE)
    return acme


def plan(account: Account, text: str, *, delete: bool = False) -> list[str]:
    return [
        f"{each.action} {each.name} {' '.join(each.fields)}".strip()
        for each in plan_configuration(account, text, delete=delete)
        if each.kind == "alerts"
    ]


def test_channels_and_subscriptions_are_created_and_the_same_file_again_changes_nothing(
    account_with_alerts: Account, cast: Cast
) -> None:
    rows = AlertSubscription.objects.all()
    assert sorted(row.trigger for row in rows) == sorted(
        ["budget", "budget", "anomaly", "anomaly", "digest", "source", "view_change"]
    )
    assert [row.trigger for row in rows if row.paused_at] == ["digest"]
    before = fingerprint()

    assert apply_configuration(account=account_with_alerts, actor=ACTOR, text=FILE, delete=True) == []

    assert fingerprint() == before
    add_channel(cast.other_account)
    text = export_configuration(account_with_alerts)
    apply_configuration(account=cast.other_account, actor=ACTOR, text=text)
    assert export_configuration(cast.other_account) == text


def test_thresholds_impact_and_pause_change_in_place(account_with_alerts: Account) -> None:
    ids = set(AlertSubscription.objects.values_list("pk", flat=True))
    text = (
        FILE.replace("budget: Everything}", "budget: Everything, thresholds: [50, 90]}")
        .replace("minimum_impact: 50.00", "minimum_impact: 75")
        .replace(", paused: true", "")
    )

    assert sorted(plan(account_with_alerts, text)) == [
        "change Ops: anomaly, USD minimum_impact",
        "change Ops: budget, Everything, actual thresholds",
        "change Ops: digest, weekly paused",
    ]
    apply_configuration(account=account_with_alerts, actor=ACTOR, text=text)

    assert set(AlertSubscription.objects.values_list("pk", flat=True)) == ids
    assert plan(account_with_alerts, text, delete=True) == []


def test_thresholds_of_several_subscriptions_are_one_entry(account_with_alerts: Account) -> None:
    draft = SubscriptionDraft(channel="Ops", trigger="budget", budget="Everything", thresholds=[95])
    create_alert_subscription(account=account_with_alerts, actor=ACTOR, draft=draft)

    assert plan(account_with_alerts, FILE) == ["change Ops: budget, Everything, actual thresholds"]
    assert (
        plan(
            account_with_alerts,
            FILE.replace("budget: Everything}", "budget: Everything, thresholds: [80, 95, 100]}"),
        )
        == []
    )
    apply_configuration(account=account_with_alerts, actor=ACTOR, text=FILE)

    (row,) = AlertSubscription.objects.filter(trigger="budget", measure="actual")
    assert row.thresholds == [80, 100]


def test_the_active_thresholds_of_a_budget_are_exported(account_with_alerts: Account) -> None:
    draft = SubscriptionDraft(channel="Ops", trigger="budget", budget="Everything", thresholds=[95])
    row = create_alert_subscription(account=account_with_alerts, actor=ACTOR, draft=draft).subscription
    pause_alert_subscription(subscription=row, actor=ACTOR)

    assert plan(account_with_alerts, FILE, delete=True) == []


def test_with_deletion_another_currency_replaces_the_subscription(account_with_alerts: Account) -> None:
    text = FILE.replace("minimum_impact: 50.00, currency: USD", "minimum_impact: 50, currency: EUR")

    assert plan(account_with_alerts, text, delete=True) == [
        "create Ops: anomaly, EUR",
        "delete Ops: anomaly, USD",
    ]
    apply_configuration(account=account_with_alerts, actor=ACTOR, text=text, delete=True)

    assert plan(account_with_alerts, text, delete=True) == []


def test_a_plan_names_the_alerts_that_go_with_their_budget(account_with_alerts: Account) -> None:
    text = "version: 1\nbudgets: []\n"

    assert plan(account_with_alerts, text, delete=True) == [
        "delete Ops: budget, Everything, actual",
        "delete Ops: budget, Everything, forecast",
    ]
    assert plan(account_with_alerts, text) == []


def test_a_channel_must_exist_in_the_account(account_with_alerts: Account, cast: Cast) -> None:
    text = "version: 1\nalerts:\n  - {channel: Ops, trigger: source}\n"

    with pytest.raises(UserError, match=r"^alerts: channel: 'Ops' does not exist"):
        apply_configuration(account=cast.other_account, actor=ACTOR, text=text)
    with pytest.raises(UserError, match=r"^alerts, entry 1: .*url"):
        plan_configuration(account_with_alerts, text.replace("}", ", url: https://hooks.example/x}"))
