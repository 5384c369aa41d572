"""Usage metrics: how the quantities of a name add up over time."""

from __future__ import annotations

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from ingestion.models import UsageMetric


@transaction.atomic
def set_metric(
    *, account: Account, actor: Actor, name: str, aggregation: str | None = None, label: str | None = None
) -> UsageMetric:
    """Say how a metric adds up, or what to call it; the metric is made when no event has named it yet.

    None keeps what is. Counts for the whole past, since answers add up at query time. Raises ValidationError for an
    unknown aggregation, or a name or label that is too long.
    """
    with account_scope(account):
        row = UsageMetric.objects.select_for_update().filter(name=name).first()
        metric = row or UsageMetric(account=account, name=name)
        before = _settings(metric)
        metric.aggregation = metric.aggregation if aggregation is None else aggregation
        metric.label = metric.label if label is None else label.strip()
        metric.full_clean()
        metric.save()
    audit.record(
        account=account,
        actor=actor,
        action="usage_metric.change",
        target=name,
        detail={"from": before, "to": _settings(metric)},
    )
    return metric


def _settings(metric: UsageMetric) -> dict[str, str]:
    return {"aggregation": metric.aggregation, "label": metric.label}
