"""Writes on subscriptions. The maximum number and the validation apply to every caller."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import F

from accounts import audit
from accounts.audit import Actor
from accounts.limits import limit_of
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.alerts.models import AlertEvaluation, AlertFiring, AlertSubscription
from finops.alerts.queries.subscriptions import RELATED, subscription_text
from finops.alerts.subscription_drafts import ResolvedSubscription, SubscriptionDraft, Trigger, resolve_draft
from finops.alerts.triggers import anomaly as anomalies
from finops.alerts.triggers import imports
from finops.alerts.triggers.complete_period import complete_period
from finops.alerts.triggers.digest import due_digest
from finops.alerts.triggers.saved_view import change_key, due_report
from finops.costs.dictionary_encoding import fold_case
from finops.costs.queries.sources import load_sources
from finops.insights.anomalies import services as insights
from finops.insights.anomalies.queries import anomaly_settings
from finops.insights.anomalies.rows import RecentAnomalies
from finops.insights.anomalies.services import MAX_WATCHES
from finops.insights.models import SERVICE
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.sentences import quote
from finops.worker.broker import publish

EVALUATE_TASK: Final = "alerts.evaluate"
ANOMALY_HISTORY: Final = timedelta(days=120)
"""Anomalies that ended earlier are too old for alerts, so their keys need not be recorded."""


@dataclass(frozen=True)
class SubscriptionResult:
    """A new subscription, and what else was changed for it, in sentences for the user."""

    subscription: AlertSubscription
    notes: tuple[str, ...] = ()


@transaction.atomic
def create_alert_subscription(
    *, account: Account, actor: Actor, draft: SubscriptionDraft
) -> SubscriptionResult:
    """Create a subscription. Existing anomalies are not sent. Thresholds that a budget has reached are sent at once,
    as is a unit cost above its target. The first digest, report or change covers the current period.

    Anomalies of a team or cost tag are detected only if the account watches that dimension: it does from now on, and
    `notes` say so. Raises UserError for what `resolve_draft` refuses, a channel that already gets the same (naming the
    subscription), an account at its maximum (with maximum and count), and a sixth watched dimension.
    """
    with account_scope(account):
        lock_account(account)
        resolved = resolve_draft(draft)
        check_is_new(resolved)
        _check_cap(account)
        row = _create_row(account, actor, resolved)
        notes = _monitor_dimension(account, actor, row)
        suppress(row, _existing_keys(row))
        audit.record(
            account=account,
            actor=actor,
            action="alert_subscription.create",
            target=subscription_text(row),
            detail=_audit_snapshot(row),
        )
        request_evaluation(account)
    return SubscriptionResult(row, notes)


@transaction.atomic
def pause_alert_subscription(*, subscription: AlertSubscription, actor: Actor) -> AlertSubscription:
    """Pause a subscription. Idempotent. UserError for a deleted subscription."""
    with account_scope(subscription.account):
        row = lock_subscription(subscription)
        if row.paused_at is None:
            row.paused_at = clock.now()
            row.save(update_fields=["paused_at"])
            _record(row, actor, "alert_subscription.pause")
    return row


@transaction.atomic
def resume_alert_subscription(*, subscription: AlertSubscription, actor: Actor) -> AlertSubscription:
    """Resume a subscription. As for a new one, anomalies and digests of the pause are skipped, and thresholds that a
    budget has reached in its period are sent. Idempotent. UserError for a deleted subscription."""
    account = subscription.account
    with account_scope(account):
        row = lock_subscription(subscription)
        if row.paused_at is not None:
            row.paused_at = None
            row.save(update_fields=["paused_at"])
            suppress(row, _existing_keys(row))
            _record(row, actor, "alert_subscription.resume")
            request_evaluation(account)
    return row


@transaction.atomic
def delete_alert_subscription(*, subscription: AlertSubscription, actor: Actor) -> None:
    """Delete a subscription; its deliveries stay in the list. UserError when it is already deleted."""
    with account_scope(subscription.account):
        row = lock_subscription(subscription)
        _record(row, actor, "alert_subscription.delete")
        row.delete()


def request_evaluation(account: Account) -> None:
    """Request an evaluation of the account, which is in scope. The request is stored in the database; a worker gets
    it on commit, else beat finds it within a minute."""
    AlertEvaluation.objects.get_or_create(account=account)
    AlertEvaluation.objects.update(asks=F("asks") + 1)
    transaction.on_commit(lambda: publish(EVALUATE_TASK, account.pk, expires=300))


def lock_subscription(subscription: AlertSubscription) -> AlertSubscription:
    """Return the row, locked until the transaction ends. Raises UserError when it is deleted."""
    rows = AlertSubscription.objects.select_for_update(of=("self",))
    return existing(rows.select_related("account", *RELATED), subscription, "alert subscription")


def _record(row: AlertSubscription, actor: Actor, action: str) -> None:
    audit.record(
        account=row.account,
        actor=actor,
        action=action,
        target=subscription_text(row),
        detail=_audit_snapshot(row),
    )


def check_is_new(resolved: ResolvedSubscription, *, but: int = 0) -> None:
    """Refuse to send the same to a channel twice: UserError that names the other subscription. `but`: an id to skip."""
    rows = AlertSubscription.objects.exclude(pk=but).filter(
        channel_id=resolved.channel_id, trigger=resolved.trigger
    )
    same = next((row for row in rows.filter(**_same_about(resolved)) if _overlaps(row, resolved)), None)
    if same is None:
        return
    paused_note = ", which is paused," if same.paused_at else ""
    raise UserError(
        f"Subscription {same.pk}{paused_note} already sends this to the channel: "
        f"{subscription_text(same, quote)}. {_advice(same, resolved, is_new=not but)}",
        field="thresholds" if resolved.trigger == Trigger.BUDGET else "channel",
        value=same.pk,
        page=f"alerts/subscriptions/{same.pk}/",
    )


def _same_about(resolved: ResolvedSubscription) -> dict[str, Any]:
    if resolved.trigger == Trigger.BUDGET:
        return {"budget_id": resolved.budget_id, "measure": resolved.measure}
    if resolved.saved_view_id is not None or resolved.unit_metric_id is not None:
        return {
            "saved_view_id": resolved.saved_view_id,
            "unit_metric_id": resolved.unit_metric_id,
            "frequency": resolved.frequency,
        }
    if resolved.scope is None:
        return {"frequency": resolved.frequency}
    scope = resolved.scope
    return {
        "scope": scope.scope,
        "cost_source_id": scope.cost_source_id,
        "team_id": scope.team_id,
        "cost_tag_id": scope.cost_tag_id,
    }


def _overlaps(row: AlertSubscription, resolved: ResolvedSubscription) -> bool:
    if resolved.trigger == Trigger.BUDGET:
        return bool(set(row.thresholds) & set(resolved.thresholds))
    if resolved.trigger in (Trigger.VIEW_CHANGE, Trigger.UNIT_COST):
        same_kind = (row.minimum_percent is None) == (resolved.minimum_percent is None)
        return same_kind and row.currency == resolved.currency
    if resolved.scope is None:
        return True
    same_value = fold_case(row.cost_tag_value) == fold_case(resolved.scope.cost_tag_value)
    return same_value and (row.currency == resolved.currency or "" in (row.currency, resolved.currency))


def _advice(same: AlertSubscription, resolved: ResolvedSubscription, *, is_new: bool) -> str:
    new = [each for each in resolved.thresholds if each not in same.thresholds]
    if new:
        return f"Request only the other thresholds: {', '.join(map(str, new))}."
    if not is_new:
        return "Delete one of the two instead."
    if (same.minimum_impact, same.minimum_percent) != (resolved.minimum_impact, resolved.minimum_percent):
        return "Edit its minimum_impact on its page."
    if same.target != resolved.target:
        return "Edit its target on its page."
    return "No new subscription is needed."


def _check_cap(account: Account) -> None:
    cap, count = limit_of(account, "ALERT_SUBSCRIPTIONS_PER_ACCOUNT"), AlertSubscription.objects.count()
    if count >= cap:
        raise UserError(
            f"The account has {count} alert subscriptions; the maximum is {cap}. Delete a subscription first."
        )


def _create_row(account: Account, actor: Actor, resolved: ResolvedSubscription) -> AlertSubscription:
    scope = resolved.scope
    row = AlertSubscription(
        account=account,
        channel_id=resolved.channel_id,
        trigger=resolved.trigger,
        budget_id=resolved.budget_id,
        thresholds=list(resolved.thresholds),
        measure=resolved.measure,
        scope=scope.scope if scope else "",
        cost_source_id=scope.cost_source_id if scope else None,
        team_id=scope.team_id if scope else None,
        cost_tag_id=scope.cost_tag_id if scope else None,
        cost_tag_value=scope.cost_tag_value if scope else "",
        minimum_impact=resolved.minimum_impact,
        currency=resolved.currency,
        frequency=resolved.frequency,
        saved_view_id=resolved.saved_view_id,
        minimum_percent=resolved.minimum_percent,
        unit_metric_id=resolved.unit_metric_id,
        target=resolved.target,
        fingerprint=resolved.fingerprint,
        created_by_id=actor.creator_id,
        created_at=clock.now(),
    )
    row.full_clean(exclude=["account"])
    row.save(force_insert=True)
    return row


def _monitor_dimension(account: Account, actor: Actor, row: AlertSubscription) -> tuple[str, ...]:
    """Make the account detect anomalies of the subscription's team or cost tag."""
    dimension = anomalies.dimension_of(row)
    if row.trigger != Trigger.ANOMALY or dimension == SERVICE:
        return ()
    watches = anomaly_settings(account).watches
    if fold_case(dimension) in map(fold_case, watches):
        return ()
    if len(watches) >= MAX_WATCHES:
        raise UserError(
            f"Anomalies by {dimension} are not monitored, and the account already monitors the "
            f"maximum of {len(watches)} other dimensions: {', '.join(watches)}. Remove one in "
            "Anomalies, Settings.",
            field="scope",
        )
    insights.change_anomaly_settings(
        account=account, actor=actor, watches=[*watches, dimension], minimum_impacts={}
    )
    note = f"Anomalies by {dimension} are now monitored in addition to services. Change this in Anomalies, Settings."
    return (note,)


def suppress(row: AlertSubscription, keys: Iterable[str]) -> None:
    """Record keys as fired without sending a message. One query."""
    firings = [
        AlertFiring(account_id=row.account_id, subscription=row, key=key, message={}, fired_at=clock.now())
        for key in keys
    ]
    AlertFiring.objects.bulk_create(firings, ignore_conflicts=True)


def _existing_keys(row: AlertSubscription) -> list[str]:
    """Return keys of what existed before the subscription: anomalies, and the digest of past days."""
    if row.trigger == Trigger.DIGEST:
        return [due_digest(row.frequency, clock.today()).key]
    if row.trigger in (Trigger.BUDGET, Trigger.SOURCE, Trigger.UNIT_COST):
        return []
    if row.trigger in (Trigger.VIEW_REPORT, Trigger.VIEW_CHANGE):
        return existing_view_keys(row)
    if row.trigger == Trigger.IMPORT:
        return [imports.key_of(each) for each in imports.recent() if not imports.waits(each)]
    return existing_anomaly_keys(row)


def existing_view_keys(row: AlertSubscription) -> list[str]:
    """Return keys of the report of this day, week or month, or of the change of the last complete one. At most two
    PostgreSQL queries."""
    if row.saved_view is None:
        return []
    today = clock.today()
    if row.trigger == Trigger.VIEW_REPORT:
        return [due_report(row.account, row.saved_view, row.frequency, today).key]
    through = load_sources(row.account).coverage.complete_through
    period = complete_period(row.frequency, through, today)
    return [change_key(period)] if period else []


def existing_anomaly_keys(row: AlertSubscription) -> list[str]:
    """Return keys of the subscription's anomalies of the last 120 days. One query, five more with conversion."""
    recent = RecentAnomalies(row.account, clock.today() - ANOMALY_HISTORY)
    relevant = anomalies.relevant_anomalies(row, recent.rows(), recent.display(row.currency))
    return [anomalies.key_of(each) for each in relevant]


def _audit_snapshot(row: AlertSubscription) -> dict[str, Any]:
    """Return the values for the audit log."""
    return {"id": row.pk, "channel": row.channel.name, "trigger": row.trigger}
