"""The changes around an anomaly: from the audit log, and from apps that register finders."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounts.models import AuditEntry
from finops.insights.anomalies import causes
from finops.insights.anomalies.causes import AnomalyEvent, change_event_finders, change_events
from finops.insights.models import Anomaly
from finops.lib.registry import Registry
from tests.finops.insights.anomalies.bills import SPIKE

NEAR = datetime(SPIKE.year, SPIKE.month, SPIKE.day, 9, tzinfo=UTC)


def record_entry(spike: Anomaly, action: str, target: str, at: datetime = NEAR, **detail: Any) -> list[str]:
    AuditEntry.objects.create(
        account=spike.account,
        at=at,
        actor_label="maya@example.com",
        action=action,
        target=target,
        detail=detail,
    )
    return [event.what for event in change_events(spike)]


def test_a_restated_month_of_its_source_is_named(spike: Anomaly) -> None:
    events = record_entry(spike, "cost_import.finish", "Bill: february.csv", months=["2026-02"])

    assert events == ["An import replaced 2026-02 of Bill."]


@pytest.mark.parametrize(
    ("action", "target", "months"),
    [
        ("cost_import.finish", "Other: february.csv", ["2026-02"]),
        ("cost_import.finish", "Bill: march.csv", ["2026-03"]),
        ("cost_tag.change", "product", []),
        ("budget.create", "Bill", []),
    ],
)
def test_audit_entries_of_other_objects_are_no_causes(
    spike: Anomaly, action: str, target: str, months: list[str]
) -> None:
    assert record_entry(spike, action, target, months=months) == []


def test_a_changed_cost_tag_is_named_where_it_is_watched(spike: Anomaly) -> None:
    spike.dimension = "cost_tag:product"

    assert record_entry(spike, "cost_tag.change", "product") == [
        "The rules of cost tag product were changed."
    ]


def test_audit_entries_long_before_are_no_causes(spike: Anomaly) -> None:
    assert record_entry(spike, "cost_source.create", "Bill", at=NEAR - timedelta(days=9)) == []


def test_an_app_may_register_its_own(spike: Anomaly, monkeypatch: pytest.MonkeyPatch) -> None:
    finders: Registry[Any] = Registry("change events")
    monkeypatch.setattr(causes, "change_event_finders", finders)
    for name, finder in change_event_finders.items():
        finders.add(name, finder)
    finders.add("deployments", lambda anomaly: [AnomalyEvent(at=NEAR, what="Deployed search 4.2")])

    assert [event.what for event in change_events(spike)] == ["Deployed search 4.2"]
    with pytest.raises(ValueError, match="registered twice"):
        finders.register("deployments")(lambda anomaly: [])
