"""Writes on saved unit metrics. The caller checks permissions."""

from __future__ import annotations

from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing
from finops.costs import dependants
from finops.lib.errors import UserError
from finops.unitcosts.models import UnitMetric
from finops.unitcosts.queries.unit_metrics import validate_question
from finops.unitcosts.saved_question import saved_fields
from finops.unitcosts.unit_cost_query import UnitCostQuery

MAX_UNIT_METRICS = 100


@transaction.atomic
def create_unit_metric(
    *, account: Account, actor: Actor, name: str, question: UnitCostQuery, description: str = ""
) -> UnitMetric:
    """Save a question under a name: its cost, usage metric, scale and mode, not its days.

    Raises UserError for what `query_unit_cost` would refuse, and above 100 metrics; ValidationError for a name that
    is empty or taken.
    """
    with account_scope(account):
        if UnitMetric.objects.count() >= MAX_UNIT_METRICS:
            raise UserError(f"The maximum is {MAX_UNIT_METRICS} unit metrics per account. Delete one first.")
        metric = UnitMetric(account=account)
        _keep(metric, name, description, question)
        metric.save(force_insert=True)
    audit.record(
        account=account,
        actor=actor,
        action="unit_metric.create",
        target=metric.name,
        detail=_audit_snapshot(metric),
    )
    return metric


def _keep(metric: UnitMetric, name: str, description: str, question: UnitCostQuery) -> None:
    metric.name, metric.description = name.strip(), description.strip()
    for field, value in saved_fields(validate_question(metric.account, question)).items():
        setattr(metric, field, value)
    metric.full_clean()


def _audit_snapshot(metric: UnitMetric) -> dict[str, Any]:
    names = (
        "name",
        "description",
        "usage_metric",
        "per",
        "mode",
        "basis",
        "charge_categories",
        "splits",
        "filters",
        "usage_filters",
    )
    return {name: getattr(metric, name) for name in names}


@transaction.atomic
def change_unit_metric(
    *, metric: UnitMetric, actor: Actor, name: str, description: str, question: UnitCostQuery
) -> UnitMetric:
    """Change a unit metric's name, description or question. Raises as `create_unit_metric` does."""
    account = metric.account
    with account_scope(account):
        metric = existing(UnitMetric.objects.select_for_update(), metric, "unit metric")
        before = _audit_snapshot(metric)
        _keep(metric, name, description, question)
        metric.save()
    audit.record(
        account=account,
        actor=actor,
        action="unit_metric.change",
        target=metric.name,
        detail={"from": before, "to": _audit_snapshot(metric)},
    )
    return metric


@transaction.atomic
def delete_unit_metric(*, metric: UnitMetric, actor: Actor) -> None:
    """Delete a unit metric; its cost and usage data stay."""
    account = metric.account
    with account_scope(account):
        metric = existing(UnitMetric.objects.select_for_update(), metric, "unit metric")
        dependents = dependants.audit_detail(metric)
        metric.delete()
    audit.record(
        account=account,
        actor=actor,
        action="unit_metric.delete",
        target=metric.name,
        detail={**_audit_snapshot(metric), **dependents},
    )
