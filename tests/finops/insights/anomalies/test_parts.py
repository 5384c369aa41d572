"""A large account looked at in parts by several workers: what one look finds, whichever part ends when."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from accounts.models import Account
from finops.insights.anomalies import parts, services
from finops.insights.anomalies.services import (
    change_anomaly_settings,
    detect_if_due,
    detect_part_if_due,
    due_accounts,
    mark_expected_anomaly,
)
from finops.insights.models import Anomaly, AnomalyRun, Incident
from finops.insights.tasks import find_anomalies_in_part
from tests.cast import ACTOR
from tests.factories.costs import Line, add_source, cost, store_lines
from tests.finops.insights.anomalies.bills import LAST, SPIKE, bill, run_detection, with_extra

SERVICES = ["Compute", "Straße", "storage", "Ärger", "日本", "zz"]


def spike_lines() -> list[Line]:
    """Six services and no service, in teams by tag; some with a spike, one in two currencies, one that is too small."""
    lines: list[Line] = []
    for place, service in enumerate(SERVICES):
        until = SPIKE + timedelta(days=place % 3)
        amount = with_extra(SPIKE, until, "300") if place % 2 else with_extra(SPIKE, SPIKE, "0")
        lines += bill(amount, service=service, resource_id=f"r-{place}", tags={"team": f"t{place % 3}"})
    lines += bill(with_extra(SPIKE, LAST, "-90"), service="Compute", currency="EUR")
    return lines + bill(with_extra(SPIKE, SPIKE, "500"), service=None)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Accounts are large from two values on; the messages that workers would get."""
    sent: list[tuple[str, int]] = []

    def note(_task: str, _account: int, number: int = -1, **_options: Any) -> None:
        sent.append((_task, number))

    monkeypatch.setattr(parts, "LEAST_LINES", 1)
    monkeypatch.setattr(parts, "SERIES", 2)
    monkeypatch.setattr(parts, "publish", note)
    monkeypatch.setattr(services, "publish", note)
    return sent


def findings(account: Account) -> list[dict[str, Any]]:
    detect_if_due(account)
    rows = Anomaly.objects.order_by("key").values()
    incidents = {row.pk: (row.key, row.state) for row in Incident.objects.all()}
    return [
        {
            **{name: value for name, value in row.items() if name not in ("id", "updated_at", "found_at")},
            "incident_id": incidents[row["incident_id"]],
        }
        for row in rows
    ]


def delete_anomalies(account: Account) -> None:
    for model in (Anomaly, Incident, AnomalyRun):
        model.objects.all().delete()


def number_of_parts() -> int:
    return len(AnomalyRun.objects.get().parts["parts"])


def test_parts_find_what_one_detection_finds(acme: Account, large: list[tuple[str, int]]) -> None:
    source = add_source(acme, spike_lines())
    change_anomaly_settings(account=acme, actor=ACTOR, watches=["tag:team"], minimum_impacts={})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "LEAST_LINES", 10**9)
        in_one = findings(acme)
        series = AnomalyRun.objects.get().series
    assert len(in_one) >= 6
    delete_anomalies(acme)

    assert findings(acme) == []
    assert number_of_parts() == 6
    assert [number for task, number in large if task == parts.PART_TASK] == list(range(6))
    for number in (4, 1, 0, 5, 3):
        assert detect_part_if_due(acme, number)
        assert Anomaly.objects.count() == 0
    assert large[-1][0] == parts.PART_TASK
    detect_part_if_due(acme, 2)
    assert large[-1][0] == services.RUN_TASK

    in_parts = findings(acme)
    assert in_parts == in_one
    run = AnomalyRun.objects.get()
    assert (run.parts, run.series, run.error) == (None, series, "")
    assert due_accounts() == []
    assert not detect_if_due(acme)

    # A bill that takes the spikes back does so in parts too.
    store_lines(acme, source, bill(service="Compute"))
    complete(acme)
    assert not Anomaly.objects.filter(gone_at=None, value__in=SERVICES[1:]).exists()


def complete(account: Account) -> list[Anomaly]:
    """Look, with every part that the look has."""
    detect_if_due(account)
    for number in range(number_of_parts()) if AnomalyRun.objects.get().parts else ():
        find_anomalies_in_part(account.pk, number)
    return run_detection(account)


def test_a_part_that_comes_twice_or_late_changes_nothing(acme: Account, large: list[tuple[str, int]]) -> None:
    source = add_source(acme, spike_lines())
    detect_if_due(acme)
    assert detect_part_if_due(acme, 0)
    once = AnomalyRun.objects.get().parts
    detect_part_if_due(acme, 0)
    assert AnomalyRun.objects.get().parts == once

    # A message that was lost: the account stays due, and what is not done is sent again.
    large.clear()
    assert due_accounts() == [acme.pk]
    detect_if_due(acme)
    assert large == [(parts.PART_TASK, number) for number in range(1, number_of_parts())]

    # Bills change meanwhile: all of it is planned anew.
    store_lines(acme, source, spike_lines()[:-1])
    detect_if_due(acme)
    assert not any(part.get("done") for part in AnomalyRun.objects.get().parts["parts"])
    rows = complete(acme)
    assert rows
    assert AnomalyRun.objects.get().parts is None
    detect_part_if_due(acme, 0)
    assert run_detection(acme) == rows


def test_anomalies_marked_as_expected_are_learned_in_parts(
    acme: Account, large: list[tuple[str, int]]
) -> None:
    add_source(acme, spike_lines())
    rows = complete(acme)
    (spike,) = [row for row in rows if row.value == "Ärger"]
    mark_expected_anomaly(account=acme, actor=ACTOR, anomaly=spike)
    assert due_accounts() == [acme.pk]
    complete(acme)
    assert Anomaly.objects.get(pk=spike.pk).state == Incident.State.EXPECTED
    assert due_accounts() == []


def test_an_account_with_few_lines_is_processed_in_one_piece(acme: Account) -> None:
    add_source(acme, [*spike_lines(), cost(LAST, 1)])
    assert run_detection(acme)
    assert AnomalyRun.objects.get().parts is None
