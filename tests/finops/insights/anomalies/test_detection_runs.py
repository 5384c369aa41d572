"""Detection over an account's bills: stored anomalies, their identity, and the effect of reviews."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from decimal import Decimal
from typing import Any

import psycopg
from django.db import connection
from django.test import Client

from accounts.models import Account, User
from finops.insights.anomalies.incidents import GONE
from finops.insights.anomalies.queries import list_anomalies, open_anomalies, state_counts
from finops.insights.anomalies.schemas import AnomaliesQuery
from finops.insights.anomalies.services import (
    change_anomaly_settings,
    detect_if_due,
    due_accounts,
    mark_expected_anomaly,
    reopen,
    resolve,
)
from finops.insights.models import Anomaly, AnomalyRun, Incident
from finops.lake.models import LakeSegment
from finops.lib import clock
from finops.lib.formats import numbers
from finops.lib.time_limit import limit_time
from tests.cast import Cast
from tests.factories.costs import add_source, cost, store_lines
from tests.factories.days import NOON
from tests.finops.insights.anomalies.bills import LAST, SPIKE, bill, run_detection, weekday_cost, with_extra
from tests.pages import get_page


def test_a_spike_is_found_with_its_exact_money(acme: Account) -> None:
    add_source(acme, bill(with_extra(SPIKE, SPIKE + timedelta(days=1), "300.000000000000000001")))

    (anomaly,) = run_detection(acme)

    days = [SPIKE, SPIKE + timedelta(days=1)]
    assert (anomaly.first_day, anomaly.last_day, anomaly.kind, anomaly.state) == (*days, "spike", "open")
    assert anomaly.actual == sum(weekday_cost(day) for day in days) + Decimal("600.000000000000000002")
    assert anomaly.impact == anomaly.actual - anomaly.expected
    assert abs(anomaly.impact - 600) < 20
    assert (anomaly.value, anomaly.dimension, anomaly.currency, anomaly.ongoing) == (
        "Compute",
        "service",
        "USD",
        False,
    )
    assert anomaly.severity == "high"


def test_detection_is_due_once_for_each_change_and_day(acme: Account) -> None:
    source = add_source(acme, bill())
    assert due_accounts() == [acme.pk]
    assert detect_if_due(acme)
    assert due_accounts() == []
    assert not detect_if_due(acme)

    store_lines(acme, source, [cost(LAST, 100, service="Compute")])

    assert due_accounts() == [acme.pk]


def test_a_detection_that_takes_longer_than_a_task_may_ends_says_so_and_is_tried_again(acme: Account) -> None:
    add_source(acme, bill())
    with clock.frozen(NOON):
        with limit_time(0):
            assert detect_if_due(acme)
        assert "The query timed out." in AnomalyRun.objects.get().error
        assert due_accounts() == []
    with clock.frozen(NOON + timedelta(minutes=11)):
        assert detect_if_due(acme)
    assert AnomalyRun.objects.get().error == ""


def incident_of(anomaly: Anomaly) -> Incident:
    incident = anomaly.incident
    assert incident is not None
    return incident


def days_later(days: int) -> AbstractContextManager[None]:
    return clock.frozen(NOON + timedelta(days=days))


def test_an_anomaly_that_grows_stays_the_same(acme: Account) -> None:
    first = LAST - timedelta(days=1)
    source = add_source(acme, bill(with_extra(first, LAST, "200")))
    (before,) = run_detection(acme)
    assert (before.ongoing, before.last_day) == (True, LAST)

    with days_later(2):
        store_lines(
            acme,
            source,
            bill(with_extra(first, LAST + timedelta(days=2), "200"), last=LAST + timedelta(days=2)),
        )
        (after,) = run_detection(acme)

    assert (after.pk, after.key, after.first_day) == (before.pk, before.key, first)
    assert after.last_day == LAST + timedelta(days=2)
    assert after.impact > before.impact
    assert after.month_end_impact > after.impact


def test_looking_again_from_nothing_gives_the_same_ids(acme: Account) -> None:
    add_source(acme, bill(with_extra(SPIKE, SPIKE, "500")))
    (before,) = run_detection(acme)
    Anomaly.objects.all().delete()
    AnomalyRun.objects.all().delete()

    (after,) = run_detection(acme)

    assert (after.key, after.impact, after.causes) == (before.key, before.impact, before.causes)


def test_looking_again_at_the_same_data_writes_nothing(acme: Account) -> None:
    add_source(acme, bill(with_extra(SPIKE, SPIKE, "500")))
    (before,) = run_detection(acme)

    with days_later(0):
        AnomalyRun.objects.update(data_version="")
        (after,) = run_detection(acme)

    assert after.updated_at == before.updated_at


def test_a_restated_bill_takes_one_away_and_brings_it_back(acme: Account) -> None:
    odd = bill(with_extra(SPIKE, SPIKE, "500"))
    source = add_source(acme, odd)
    (before,) = run_detection(acme)

    store_lines(acme, source, bill())
    (retracted,) = run_detection(acme)
    assert (retracted.state, incident_of(retracted).note) == ("resolved", GONE)
    assert retracted.gone_at is not None

    store_lines(acme, source, odd)
    (back,) = run_detection(acme)

    assert (back.pk, back.state, incident_of(back).note, back.gone_at) == (before.pk, "open", "", None)


def test_a_bill_that_is_late_is_no_drop_and_takes_nothing_away(acme: Account) -> None:
    add_source(acme, bill(), name="On time")
    late = LAST - timedelta(days=5)
    source = add_source(acme, bill(with_extra(late, late, "500"), last=late, service="Late"), name="Late")
    (before,) = run_detection(acme)
    assert (before.value, before.last_day) == ("Late", late)

    segments = LakeSegment.objects.filter(source_id=source.pk, month=late.replace(day=1))
    segments.update(retired_at=clock.now())
    (after,) = run_detection(acme)

    assert (after.state, after.gone_at) == ("open", None)


def test_the_newest_day_is_no_drop_before_the_next_has_come(acme: Account) -> None:
    source = add_source(acme, bill(lambda day: weekday_cost(day) if day < LAST else Decimal(5)))
    assert run_detection(acme) == []

    with days_later(1):
        following = LAST + timedelta(days=1)
        store_lines(
            acme, source, bill(lambda day: weekday_cost(day) if day != LAST else Decimal(5), last=following)
        )
        (anomaly,) = run_detection(acme)

    assert (anomaly.kind, anomaly.first_day) == ("drop", LAST)


def test_taxes_credits_refunds_fees_and_commitment_purchases_do_not_count(acme: Account) -> None:
    other_lines = [
        {"charge_category": "Tax"},
        {"charge_category": "Credit"},
        {"charge_category": "Purchase", "charge_frequency": "One-Time"},
        {"charge_category": "Purchase", "charge_frequency": "Recurring", "commitment_id": "sp-1"},
    ]
    extra = [cost(SPIKE, 5000, service="Compute", **columns) for columns in other_lines]
    refund = cost(SPIKE, -5000, service="Compute", charge_class="Correction")
    add_source(acme, [*bill(), *extra, refund])

    assert run_detection(acme) == []


def test_a_recurring_purchase_without_commitment_does_count(acme: Account) -> None:
    bought = cost(SPIKE, 5000, service="Compute", charge_category="Purchase", charge_frequency="Recurring")
    add_source(acme, [*bill(), bought])

    (anomaly,) = run_detection(acme)

    assert anomaly.actual == weekday_cost(SPIKE) + 5000


def test_cost_is_amortized_whatever_the_view(acme: Account) -> None:
    upfront = {**cost(SPIKE, 9000, service="Compute"), "effective_cost": Decimal(0)}
    add_source(acme, [*bill(), upfront])

    assert run_detection(acme) == []


def test_currencies_are_distinguished(acme: Account) -> None:
    odd = with_extra(SPIKE, SPIKE, "500")
    add_source(acme, [*bill(odd), *bill(currency="EUR")])

    (anomaly,) = run_detection(acme)

    assert anomaly.currency == "USD"


def test_less_than_the_smallest_impact_is_not_said(acme: Account, cast: Cast) -> None:
    add_source(acme, bill(with_extra(SPIKE, SPIKE, "80")))
    change_anomaly_settings(account=acme, actor=cast.actor, watches=[], minimum_impacts={"USD": Decimal(100)})
    assert run_detection(acme) == []

    change_anomaly_settings(account=acme, actor=cast.actor, watches=[], minimum_impacts={"USD": Decimal(20)})
    (anomaly,) = run_detection(acme)

    assert anomaly.severity == "medium"


def test_a_large_account_does_not_hide_a_service_that_trebles(acme: Account) -> None:
    large = bill(lambda day: weekday_cost(day) * 500)
    add_source(acme, [*large, *bill(with_extra(SPIKE, SPIKE, "200"), service="Small")])

    (anomaly,) = run_detection(acme)

    assert (anomaly.value, anomaly.severity) == ("Small", "low")
    assert anomaly.impact < 50_000 * 30 // 1_000


def test_a_tag_can_be_watched_and_the_same_money_counts_once(acme: Account, cast: Cast) -> None:
    odd = with_extra(SPIKE, SPIKE, "500")
    add_source(acme, [*bill(odd, tags={"team": "search"}), *bill(tags={"team": "ads"})])
    change_anomaly_settings(account=acme, actor=cast.actor, watches=["tag:team"], minimum_impacts={})

    by_value = {(row.dimension, row.value): row for row in run_detection(acme)}

    assert set(by_value) == {("service", "Compute"), ("tag:team", "search")}
    service, team = by_value["service", "Compute"], by_value["tag:team", "search"]
    assert service.incident == team.incident
    assert (service.is_counted, team.is_counted) == (True, False)
    overview = open_anomalies()
    assert (overview.count, [each.amount for each in overview.impacts]) == (1, [service.impact])
    answer = list_anomalies(acme, AnomaliesQuery(search="search"))
    assert [(each.id, each.also_seen_as) for each in answer.anomalies] == [(service.key, ["tag:team search"])]

    mark_expected_anomaly(account=acme, actor=cast.actor, anomaly=team, note="A launch.")
    assert {row.state for row in run_detection(acme)} == {"expected"}
    assert state_counts() == {"expected": 1}
    reopen(account=acme, actor=cast.actor, anomaly=service)

    change_anomaly_settings(account=acme, actor=cast.actor, watches=[], minimum_impacts={})
    states = {row.dimension: (row.state, row.gone_at is not None) for row in run_detection(acme)}
    assert states == {"service": ("open", False), "tag:team": ("open", True)}
    (row,) = list_anomalies(acme, AnomaliesQuery()).anomalies
    assert row.also_seen_as == []


def test_a_bucket_in_two_services_a_team_and_a_region_is_one_anomaly_and_counts_once(
    acme: Account, cast: Cast, client_for: Callable[[User], Client]
) -> None:
    """Beside it another of the same region and days, which is one of its own."""
    columns: dict[str, Any] = {"resource_id": "bucket-a", "tags": {"team": "ads"}}
    other: dict[str, Any] = {"resource_id": "vm-9", "tags": {"team": "search"}}
    bucket = [
        *bill(with_extra(SPIKE, SPIKE, "300"), service="S3", **columns),
        *bill(with_extra(SPIKE, SPIKE, "150"), service="Transfer", **columns),
    ]
    add_source(acme, [*bucket, *bill(with_extra(SPIKE, SPIKE, "200"), service="Compute", **other)])
    change_anomaly_settings(
        account=acme, actor=cast.actor, watches=["tag:team", "region"], minimum_impacts={}
    )
    rows = run_detection(acme)

    answer = list_anomalies(acme, AnomaliesQuery())
    assert answer.total_anomalies == open_anomalies().count == 2
    anomaly = next(each for each in answer.anomalies if each.root_causes[0].value == "bucket-a")
    services = [row for row in rows if row.value in ("S3", "Transfer")]
    assert anomaly.actual == sum(
        Decimal(line["effective_cost"]) for line in bucket if line["charge_date"] == SPIKE
    )
    assert anomaly.impact == anomaly.actual - anomaly.expected == sum(row.impact for row in services)
    assert {"service Transfer", "tag:team ads"} <= set(anomaly.also_seen_as)
    assert open_anomalies().impacts[0].amount == sum(each.impact for each in answer.anomalies)
    assert "2 open anomalies, net impact +" in answer.summary

    page = get_page(client_for(cast.viewer), f"/a/acme/anomalies/{anomaly.id}/")
    assert "Resource: bucket-a" in page
    assert "By service" in page
    assert page.count(numbers.signed_money(anomaly.impact, "USD")) >= 3


def test_marking_as_expected_adjusts_the_model_and_reopening_undoes_it(acme: Account, cast: Cast) -> None:
    first = LAST - timedelta(days=3)
    source = add_source(acme, bill(with_extra(first, LAST, "200")))
    (anomaly,) = run_detection(acme)
    mark_expected_anomaly(account=acme, actor=cast.actor, anomaly=anomaly, note="More machines, as planned")
    assert due_accounts() == [acme.pk]

    with days_later(3):
        end = LAST + timedelta(days=3)
        store_lines(acme, source, bill(with_extra(first, end, "200"), last=end))
        (after,) = run_detection(acme)
        assert (after.state, after.last_day) == ("expected", LAST)

        reopen(account=acme, actor=cast.actor, anomaly=after)
        (again,) = run_detection(acme)

    assert (again.pk, again.state, again.last_day) == (anomaly.pk, "open", end)


def test_a_resolved_anomaly_that_continues_is_reopened(acme: Account, cast: Cast) -> None:
    first = LAST - timedelta(days=1)
    source = add_source(acme, bill(with_extra(first, LAST, "200")))
    (anomaly,) = run_detection(acme)
    resolve(account=acme, actor=cast.actor, anomaly=anomaly, note="Scaled down")

    with days_later(5):
        end = LAST + timedelta(days=5)
        store_lines(acme, source, bill(with_extra(first, end, "200"), last=end))
        (after,) = run_detection(acme)

    assert (after.pk, after.state) == (anomaly.pk, "open")
    assert "Reopened: it continued after it was resolved." in incident_of(after).note


def test_an_anomaly_that_ended_long_ago_is_closed(acme: Account) -> None:
    source = add_source(acme, bill(with_extra(SPIKE, SPIKE, "500")))
    run_detection(acme)

    with days_later(100):
        end = LAST + timedelta(days=100)
        store_lines(acme, source, bill(with_extra(SPIKE, SPIKE, "500"), last=end))
        (old,) = run_detection(acme)

    assert (old.state, incident_of(old).marked_by_label) == ("resolved", "the detector")


def test_a_detection_leaves_the_other_account_alone(acme: Account, cast: Cast) -> None:
    add_source(acme, bill(with_extra(SPIKE, SPIKE, "500")))

    assert not detect_if_due(cast.other_account)
    run_detection(acme)

    assert not Anomaly.objects.unscoped().filter(account=cast.other_account).exists()


def test_only_one_worker_at_a_time_runs_the_detection(acme: Account) -> None:
    add_source(acme, bill())
    name = f"anomalies {acme.pk}"

    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [name])
        assert not detect_if_due(acme)
        # By hand: the server lets go of what a closed connection held a moment later.
        other.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [name])

    assert detect_if_due(acme)
