"""Incidents over detections and reviews: the same money is one, keeps its id and review, and counts once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.costs.models import CostSource
from finops.insights.anomalies.incidents import RESUMED, regroup
from finops.insights.anomalies.queries import open_anomalies
from finops.insights.anomalies.services import mark_expected_anomaly, reopen, resolve
from finops.insights.models import Anomaly, Incident
from finops.lib.errors import UserError
from tests.cast import Cast

DAY = date(2026, 3, 10)


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with account_scope(cast.account):
        yield cast.account


def create_anomaly(account: Account, value: str, impact: int, **columns: Any) -> Anomaly:
    """An anomaly as a detection stores it, before it is grouped."""
    source = CostSource.objects.get_or_create(account=account, name="AWS")[0]
    fields: dict[str, Any] = {
        "key": f"anom_{value}",
        "currency": "USD",
        "kind": "spike",
        "severity": "low",
        "first_day": DAY,
        "last_day": DAY + timedelta(days=1),
        "actual": Decimal(impact + 10),
        "expected": Decimal(10),
        "impact": Decimal(impact),
        "month_end_impact": Decimal(impact),
    }
    return Anomaly.objects.create(account=account, source=source, value=value, **{**fields, **columns})


def team_of(account: Account, *services: tuple[str, int]) -> Anomaly:
    impact = sum(amount for _name, amount in services)
    overlaps = {"service": {name: str(amount) for name, amount in services}}
    return create_anomaly(account, "Search", impact, dimension="team", overlaps=overlaps)


def group(account: Account) -> list[Incident]:
    regroup(account, DAY - timedelta(days=60))
    return list(Incident.objects.order_by("pk"))


def members_of(incident: Incident) -> list[str]:
    return sorted(incident.members.values_list("value", flat=True))


def test_a_service_and_the_team_of_the_same_money_are_one_and_count_once(acme: Account) -> None:
    service = create_anomaly(acme, "Compute", 100)
    team_of(acme, ("Compute", 95))

    (incident,) = group(acme)

    assert members_of(incident) == ["Compute", "Search"]
    assert (incident.key, incident.headline_id, incident.impact) == (service.key, service.pk, Decimal(100))
    assert [each.amount for each in open_anomalies().impacts] == [100]


def test_the_same_again_keeps_the_row_as_it_is(acme: Account) -> None:
    create_anomaly(acme, "Compute", 100)
    (before,) = group(acme)

    (after,) = group(acme)

    assert (after.pk, after.updated_at) == (before.pk, before.updated_at)


def test_an_incident_keeps_id_and_review_when_another_becomes_its_headline(acme: Account, cast: Cast) -> None:
    team = team_of(acme, ("Compute", 100))
    (before,) = group(acme)
    resolve(account=acme, actor=cast.actor, anomaly=team, note="Scaled down")

    service = create_anomaly(acme, "Compute", 100)
    (after,) = group(acme)

    assert (after.pk, after.key, after.headline_id) == (before.pk, team.key, service.pk)
    assert (after.state, after.note, after.marked_by) == ("resolved", "Scaled down", cast.actor.user)


def test_incidents_that_grow_together_join_and_lose_no_review(acme: Account, cast: Cast) -> None:
    service = create_anomaly(acme, "Compute", 100)
    team = team_of(acme, ("Mail", 100))
    first, second = group(acme)
    resolve(account=acme, actor=cast.actor, anomaly=service, note="Scaled down")
    mark_expected_anomaly(account=acme, actor=cast.actor, anomaly=team, note="A launch")

    team.refresh_from_db()
    team.overlaps = {"service": {"Compute": "100"}}
    team.save()
    (joined,) = group(acme)

    assert (joined.pk, joined.state) == (first.pk, "expected")
    assert joined.note == "Scaled down\nA launch"
    assert members_of(joined) == ["Compute", "Search"]
    assert not Incident.objects.filter(pk=second.pk).exists()


def test_an_anomaly_that_continues_after_a_review_is_open_when_it_joins_an_incident(
    acme: Account, cast: Cast
) -> None:
    service = create_anomaly(acme, "Compute", 100)
    team = team_of(acme, ("Mail", 100))
    group(acme)
    resolve(account=acme, actor=cast.actor, anomaly=service, note="Scaled down")
    Incident.objects.filter(members=service.pk).update(marked_at=datetime(2026, 3, 1, tzinfo=UTC))

    team.refresh_from_db()
    team.overlaps = {"service": {"Compute": "100"}}
    team.save()
    (joined,) = group(acme)

    assert (joined.state, joined.note) == ("open", f"Scaled down\n{RESUMED}")


def test_what_splits_is_two_of_which_each_has_the_review(acme: Account, cast: Cast) -> None:
    service = create_anomaly(acme, "Compute", 100)
    team = team_of(acme, ("Compute", 100))
    (before,) = group(acme)
    resolve(account=acme, actor=cast.actor, anomaly=team, note="Scaled down")

    team.refresh_from_db()
    team.overlaps = {"service": {"Compute": "5", "Mail": "95"}}
    team.save()
    first, second = group(acme)

    assert (first.pk, first.key, second.key) == (before.pk, service.key, team.key)
    assert [(each.state, each.note) for each in (first, second)] == [("resolved", "Scaled down")] * 2
    assert second.shared_impact == 5


def test_two_services_of_one_resource_sum_up(acme: Account) -> None:
    cause = {"value": "bucket-a", "actual": "100", "expected": "5", "excess": "95", "share": "0.95"}
    causes = [
        {
            "dimension": "resource",
            "title": "Resource",
            "rows": [cause],
            "other_values": 0,
            "other_excess": "5",
        }
    ]
    create_anomaly(acme, "S3", 100, causes=causes)
    create_anomaly(acme, "Data Transfer", 100, causes=causes, last_day=DAY + timedelta(days=2))

    (incident,) = group(acme)

    assert incident.impact == incident.actual - incident.expected == Decimal(200)
    assert (incident.first_day, incident.last_day) == (DAY, DAY + timedelta(days=2))


def test_a_review_is_of_the_whole_incident_once_and_opening_again_too(acme: Account, cast: Cast) -> None:
    service = create_anomaly(acme, "Compute", 100)
    team = team_of(acme, ("Compute", 95))
    group(acme)

    resolve(account=acme, actor=cast.actor, anomaly=team)
    assert [row.state for row in Anomaly.objects.all()] == ["resolved", "resolved"]
    assert open_anomalies().count == 0

    reopen(account=acme, actor=cast.actor, anomaly=service)
    assert [row.state for row in Anomaly.objects.all()] == ["open", "open"]


def test_a_review_of_what_was_deleted_meanwhile_says_so(acme: Account, cast: Cast) -> None:
    service = create_anomaly(acme, "Compute", 100)
    group(acme)
    Anomaly.objects.all().delete()

    with pytest.raises(UserError, match="already deleted"):
        resolve(account=acme, actor=cast.actor, anomaly=service)


def test_a_deleted_source_leaves_no_incident(acme: Account) -> None:
    create_anomaly(acme, "Compute", 100)
    group(acme)

    CostSource.objects.get().delete()

    assert not Incident.objects.exists()
