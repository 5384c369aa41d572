"""Change a subscription without repeating alerts that were sent, or existed, under the old settings."""

from __future__ import annotations

from copy import copy
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, lock_account
from finops.alerts.models import AlertFiring, AlertSubscription
from finops.alerts.queries.subscriptions import subscription_text, trigger_text
from finops.alerts.services.subscriptions import (
    check_is_new,
    existing_anomaly_keys,
    existing_view_keys,
    lock_subscription,
    request_evaluation,
    suppress,
)
from finops.alerts.subscription_drafts import (
    Measure,
    ResolvedSubscription,
    SubscriptionDraft,
    Trigger,
    resolve_draft,
)
from finops.alerts.triggers.budget import key_of
from finops.alerts.triggers.digest import due_digest
from finops.budgets.cycles import period_of, shift_period
from finops.budgets.scopes import ResolvedScope
from finops.costs.dictionary_encoding import fold_case
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.sentences import money, quote, truncate


@transaction.atomic
def change_alert_subscription(
    *, subscription: AlertSubscription, actor: Actor, draft: SubscriptionDraft
) -> AlertSubscription:
    """Set the channel, thresholds, measure, minimum impact, currency and frequency of a subscription. Its subject
    cannot change: the draft has the same trigger and the same budget or scope. A paused subscription stays paused.

    A threshold that was sent in this period is not sent again; a new threshold is sent at once if the budget has
    reached it. After a change from actual to forecast, thresholds that the actual cost has reached are not sent;
    after the opposite change they are. Existing anomalies that only the new settings include are skipped, also when
    they grow. With another frequency, so is the digest of past days. Of two concurrent changes the later one wins.

    Raises UserError for what `resolve_draft` refuses, another trigger, budget or scope, a channel that already gets the same
    from another subscription (naming it), and a deleted subscription. Without a difference nothing is written.
    """
    account = subscription.account
    with account_scope(account):
        lock_account(account)
        row = lock_subscription(subscription)
        resolved = resolve_draft(draft)
        _check_stays(row, resolved)
        check_is_new(resolved, but=row.pk)
        if _is_as(row, resolved):
            return row
        old = copy(row)
        _fill(row, resolved)
        suppress(row, _suppressed_keys(account, old, row))
        audit.record(
            account=account,
            actor=actor,
            action="alert_subscription.change",
            target=subscription_text(row),
            detail={
                "id": row.pk,
                "trigger": row.trigger,
                "from": _audit_snapshot(old),
                "to": _audit_snapshot(row),
            },
        )
        request_evaluation(account)
    return row


def _check_stays(row: AlertSubscription, resolved: ResolvedSubscription) -> None:
    """Raises UserError when the draft has another subject."""
    scope = resolved.scope or ResolvedScope(scope="")
    requested = (
        resolved.trigger,
        resolved.budget_id,
        scope.scope,
        scope.cost_source_id,
        scope.team_id,
        scope.cost_tag_id,
        resolved.saved_view_id,
        resolved.unit_metric_id,
    )
    has = (
        row.trigger,
        row.budget_id,
        row.scope,
        row.cost_source_id,
        row.team_id,
        row.cost_tag_id,
        row.saved_view_id,
        row.unit_metric_id,
    )
    if requested != has or fold_case(scope.cost_tag_value) != fold_case(row.cost_tag_value):
        raise UserError(
            f"{truncate(trigger_text(row, quote), 200)} cannot be changed. Create another "
            "subscription instead."
        )


def _is_as(row: AlertSubscription, resolved: ResolvedSubscription) -> bool:
    has = (
        row.channel_id,
        tuple(row.thresholds),
        row.measure,
        row.minimum_impact,
        row.currency,
        row.frequency,
        row.minimum_percent,
        row.target,
    )
    return has == (
        resolved.channel_id,
        resolved.thresholds,
        resolved.measure,
        resolved.minimum_impact,
        resolved.currency,
        resolved.frequency,
        resolved.minimum_percent,
        resolved.target,
    )


def _fill(row: AlertSubscription, resolved: ResolvedSubscription) -> None:
    row.channel_id = resolved.channel_id
    row.thresholds = list(resolved.thresholds)
    row.measure = resolved.measure
    row.minimum_impact = resolved.minimum_impact
    row.currency = resolved.currency
    row.frequency = resolved.frequency
    row.minimum_percent = resolved.minimum_percent
    row.target = resolved.target
    row.fingerprint = resolved.fingerprint
    row.full_clean(exclude=["account"])
    row.save()


def _suppressed_keys(account: Account, old: AlertSubscription, row: AlertSubscription) -> list[str]:
    """Return keys that the new settings would fire although they are not new."""
    if row.trigger == Trigger.BUDGET:
        return _suppressed_thresholds(account, old, row)
    if row.trigger in (Trigger.IMPORT, Trigger.SOURCE, Trigger.UNIT_COST):
        return []
    if row.trigger in (Trigger.VIEW_REPORT, Trigger.VIEW_CHANGE):
        return existing_view_keys(row) if row.frequency != old.frequency else []
    if row.trigger == Trigger.DIGEST:
        return [due_digest(row.frequency, clock.today()).key] if row.frequency != old.frequency else []
    # Anomalies that match the old settings and are not sent yet must still be sent.
    asked_for = set(existing_anomaly_keys(old))
    return [key for key in existing_anomaly_keys(row) if key not in asked_for]


def _suppressed_thresholds(account: Account, old: AlertSubscription, row: AlertSubscription) -> list[str]:
    """Return new thresholds of the previous period, as for a new subscription; by forecast, also those sent in this."""
    if row.budget is None:
        return []
    kind, same_measure = row.budget.period, row.measure == old.measure
    now = period_of(kind, clock.today(), account.fiscal_start_month)
    before = shift_period(kind, now, -1)
    new = [each for each in row.thresholds if not (same_measure and each in old.thresholds)]
    keys = [key_of(row.budget.pk, kind, before.start, row.measure, each) for each in new]
    if same_measure or row.measure == Measure.ACTUAL:
        return keys
    by_actual = {key_of(row.budget.pk, kind, now.start, old.measure, each): each for each in row.thresholds}
    fired_keys = AlertFiring.objects.filter(subscription=row, key__in=by_actual).values_list("key", flat=True)
    return keys + [key_of(row.budget.pk, kind, now.start, row.measure, by_actual[key]) for key in fired_keys]


def _audit_snapshot(row: AlertSubscription) -> dict[str, Any]:
    """Return the settings for the audit log."""
    impact = "" if row.minimum_impact is None else money(row.minimum_impact, row.currency)
    settings = {
        "channel": row.channel.name,
        "thresholds": list(row.thresholds),
        "measure": row.measure,
        "minimum_impact": impact,
        "frequency": row.frequency,
        "minimum_percent": row.minimum_percent,
        "target": "" if row.target is None else f"{row.target.normalize():f} {row.currency}",
    }
    takes: dict[str, tuple[str, ...]] = {
        Trigger.BUDGET: ("thresholds", "measure"),
        Trigger.ANOMALY: ("minimum_impact",),
        Trigger.IMPORT: (),
        Trigger.SOURCE: (),
        Trigger.VIEW_CHANGE: ("minimum_percent", "minimum_impact", "frequency"),
        Trigger.UNIT_COST: ("target", "frequency"),
    }
    return {name: settings[name] for name in ("channel", *takes.get(row.trigger, ("frequency",)))}
