"""Changing a subscription: what was told or known under the old settings is not told again because of the new ones."""

from __future__ import annotations

from copy import copy
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.alerts.models import AlertFiring, AlertSubscription
from finops.alerts.queries.subscriptions import about_words, in_words
from finops.alerts.services.subscriptions import ask, check_is_new, known_anomalies, locked, pass_over
from finops.alerts.subscriptions import Found, Measure, SubscriptionDraft, Trigger, find
from finops.alerts.triggers.budget import key_of
from finops.alerts.triggers.digest import due_digest
from finops.budgets.cycles import period_of, shifted
from finops.budgets.scopes import FoundScope
from finops.costs.numbers import folded
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.spoken import cut, money, quoted


@transaction.atomic
def change_alert_subscription(
    *, subscription: AlertSubscription, actor: Actor, draft: SubscriptionDraft
) -> AlertSubscription:
    """Give a subscription the draft's channel, thresholds, measure, minimum impact, currency and frequency. What it is
    about stays: the draft names the same trigger, and the same budget or scope. One that is paused stays paused.

    A threshold that was told in this period is not told again; one that is new is, at once, when the budget has reached
    it. By the forecast, what the actual cost has reached is no news; the other way round it is. Anomalies that are known
    by now and only the new settings ask for are passed over, also when they grow, and with another frequency the digest
    of days that are over. Of two who change it at once the later one's settings stay.

    Raises UserError for what `find` refuses, another trigger, budget or scope, a channel that another subscription tells
    the same (naming it), and a subscription that is gone. Without a difference nothing is written.
    """
    account = subscription.account
    with account_scope(account):
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)
        row = locked(subscription)
        found = find(draft)
        _check_stays(row, found)
        check_is_new(found, but=row.pk)
        if _is_as(row, found):
            return row
        old = copy(row)
        _fill(row, found)
        pass_over(row, _no_news(account, old, row))
        audit.record(
            account=account,
            actor=actor,
            action="alert_subscription.change",
            target=in_words(row),
            detail={"id": row.pk, "trigger": row.trigger, "from": _said(old), "to": _said(row)},
        )
        ask(account)
    return row


def _check_stays(row: AlertSubscription, found: Found) -> None:
    """UserError when the draft is about something else."""
    scope = found.scope or FoundScope(scope="")
    asked = (
        found.trigger,
        found.budget_id,
        scope.scope,
        scope.cost_source_id,
        scope.team_id,
        scope.cost_tag_id,
    )
    has = (row.trigger, row.budget_id, row.scope, row.cost_source_id, row.team_id, row.cost_tag_id)
    if asked != has or folded(scope.cost_tag_value) != folded(row.cost_tag_value):
        raise UserError(
            f"What a subscription is about stays: {cut(about_words(row, quoted), 200)}. Make another subscription for something else."
        )


def _is_as(row: AlertSubscription, found: Found) -> bool:
    has = (
        row.channel_id,
        tuple(row.thresholds),
        row.measure,
        row.minimum_impact,
        row.currency,
        row.frequency,
    )
    return has == (
        found.channel_id,
        found.thresholds,
        found.measure,
        found.minimum_impact,
        found.currency,
        found.frequency,
    )


def _fill(row: AlertSubscription, found: Found) -> None:
    row.channel_id = found.channel_id
    row.thresholds = list(found.thresholds)
    row.measure = found.measure
    row.minimum_impact = found.minimum_impact
    row.currency = found.currency
    row.frequency = found.frequency
    row.fingerprint = found.fingerprint
    row.full_clean(exclude=["account"])
    row.save()


def _no_news(account: Account, old: AlertSubscription, row: AlertSubscription) -> list[str]:
    """Keys that the new settings would have fire, and that are no news."""
    if row.trigger == Trigger.BUDGET:
        return _thresholds_no_news(account, old, row)
    if row.trigger == Trigger.IMPORT:
        return []
    if row.trigger == Trigger.DIGEST:
        return [due_digest(row.frequency, clock.today()).key] if row.frequency != old.frequency else []
    # What the old settings ask for and was found just now is still to be told.
    asked_for = set(known_anomalies(old))
    return [key for key in known_anomalies(row) if key not in asked_for]


def _thresholds_no_news(account: Account, old: AlertSubscription, row: AlertSubscription) -> list[str]:
    """New ones in the period that is over, as for a new subscription; by the forecast, what was told in this one."""
    if row.budget is None:
        return []
    kind, same_measure = row.budget.period, row.measure == old.measure
    now = period_of(kind, clock.today(), account.fiscal_start_month)
    before = shifted(kind, now, -1)
    new = [each for each in row.thresholds if not (same_measure and each in old.thresholds)]
    keys = [key_of(row.budget.pk, kind, before.start, row.measure, each) for each in new]
    if same_measure or row.measure == Measure.ACTUAL:
        return keys
    by_actual = {key_of(row.budget.pk, kind, now.start, old.measure, each): each for each in row.thresholds}
    told = AlertFiring.objects.filter(subscription=row, key__in=by_actual).values_list("key", flat=True)
    return keys + [key_of(row.budget.pk, kind, now.start, row.measure, by_actual[key]) for key in told]


def _said(row: AlertSubscription) -> dict[str, Any]:
    """What the audit log keeps of the settings."""
    impact = "" if row.minimum_impact is None else money(row.minimum_impact, row.currency)
    said = {
        "channel": row.channel.name,
        "thresholds": list(row.thresholds),
        "measure": row.measure,
        "minimum_impact": impact,
        "frequency": row.frequency,
    }
    takes: dict[str, tuple[str, ...]] = {
        Trigger.BUDGET: ("thresholds", "measure"),
        Trigger.ANOMALY: ("minimum_impact",),
        Trigger.IMPORT: (),
    }
    return {name: said[name] for name in ("channel", *takes.get(row.trigger, ("frequency",)))}
