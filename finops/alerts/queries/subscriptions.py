"""Reads about subscriptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final

import msgspec
from django.db.models import Max, Q, QuerySet

from accounts.models import Account
from finops.alerts.models import AlertSubscription
from finops.alerts.queries.limits import limits_that_silence
from finops.alerts.schemas import SubscriptionsQuery
from finops.alerts.triggers.anomaly import dimension_of
from finops.budgets.queries.statuses import budgets_of
from finops.budgets.scopes import WHOLE_ACCOUNT, scope_name
from finops.costs.dictionary_encoding import fold_case
from finops.insights.anomalies.queries import anomaly_settings
from finops.insights.models import SERVICE
from finops.lib.cost_access import sees_whole_account
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.sentences import exact_number, join_with_and, money, quote

Trigger, Measure = AlertSubscription.Trigger, AlertSubscription.Measure


class SubscriptionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A subscription. `about` describes it in words; `quoted_text` the same with names quoted for assistants.
    `last_fired_at`: when it last sent something. `warning`: why it will not fire."""

    id: int
    about: str
    quoted_text: str
    channel_id: int
    channel_name: str
    channel_kind: str
    trigger: str
    budget_id: int | None
    budget_name: str
    thresholds: list[int]
    measure: str
    scope: str
    scope_name: str
    minimum_impact: Decimal | None
    currency: str
    frequency: str
    saved_view_id: int | None
    saved_view_name: str
    is_view_shared: bool
    minimum_percent: int | None
    unit_metric_name: str
    target: Decimal | None
    paused: bool
    paused_at: datetime | None
    last_fired_at: datetime | None
    created_at: datetime
    created_by: str
    warning: str


class SubscriptionsPage(msgspec.Struct, frozen=True, kw_only=True):
    subscriptions: list[SubscriptionRow]
    total: int
    cursor: str


RELATED = ("channel", "budget", "cost_source", "team", "cost_tag", "saved_view", "unit_metric")


def alert_subscriptions(account: Account, query: SubscriptionsQuery) -> SubscriptionsPage:
    """Return a page of subscriptions, newest first, and the total number. Three queries. `channel` and
    `budget` are ids. UserError for a cursor of another query."""
    question = (sorted(query.triggers), query.channel, query.budget)
    offset = offset_of(query.cursor, *question)
    matches = _filtered_subscriptions(account, query)
    total = matches.count()
    rows = _rows(account, matches, slice(offset, offset + query.limit))
    next_offset = offset + len(rows)
    return SubscriptionsPage(
        subscriptions=rows,
        total=total,
        cursor=next_cursor(next_offset, *question) if next_offset < total else "",
    )


def every_subscription(account: Account, *, budget_id: int | None = None) -> list[SubscriptionRow]:
    """Return all subscriptions (200 by default), or those of one budget, for sorting and export. Two queries."""
    return _rows(account, _filtered_subscriptions(account, SubscriptionsQuery(budget=budget_id)))


def one_subscription(account: Account, subscription_id: int) -> SubscriptionRow:
    """Return a saved subscription in the form of the lists. Two queries."""
    return _rows(account, AlertSubscription.objects.filter(account=account, pk=subscription_id))[0]


def _visible_subscriptions(account: Account) -> QuerySet[AlertSubscription]:
    """With a limit those of budgets that the reader sees: a budget's cost is hers whole, so it fires as it would in an account of
    that cost alone. One query more then."""
    rows = AlertSubscription.objects.filter(account=account)
    if sees_whole_account():
        return rows
    return rows.filter(trigger=Trigger.BUDGET, budget__in=[each.pk for each in budgets_of(account)])


def _filtered_subscriptions(account: Account, query: SubscriptionsQuery) -> QuerySet[AlertSubscription]:
    rows = _visible_subscriptions(account)
    if query.triggers:
        rows = rows.filter(trigger__in=query.triggers)
    if query.channel is not None:
        rows = rows.filter(channel_id=int(query.channel))
    if query.budget is not None:
        rows = rows.filter(budget_id=int(query.budget))
    return rows


def _rows(
    account: Account, subscriptions: QuerySet[AlertSubscription], part: slice | None = None
) -> list[SubscriptionRow]:
    last_fired_at = Max("firings__fired_at", filter=~Q(firings__message={}))
    every = subscriptions.select_related(*RELATED, "created_by").annotate(last_fired_at=last_fired_at)
    rows = list(every.order_by("-created_at", "-pk")[part or slice(None)])
    limited = limits_that_silence(account, rows) if sees_whole_account() else {}
    watches = anomaly_settings(account).watches if rows else []
    billed = account.currencies if any(each.currency for each in rows) else []
    shown = [account.display_currency] if account.display_currency else billed
    # Anomalies keep the currency that they were detected in, also one without an exchange rate.
    detected = list(dict.fromkeys([*shown, *billed])) if billed else []
    return [
        _row(
            each,
            watches,
            detected if each.trigger == Trigger.ANOMALY else shown,
            [limit.name for limit in limited.get(each.pk, [])],
        )
        for each in rows
    ]


def _row(
    row: AlertSubscription, watches: Sequence[str], currencies: Sequence[str], limits: Sequence[str]
) -> SubscriptionRow:
    return SubscriptionRow(
        id=row.pk,
        about=subscription_text(row),
        quoted_text=subscription_text(row, quote),
        channel_id=row.channel_id,
        channel_name=row.channel.name,
        channel_kind=row.channel.kind,
        trigger=row.trigger,
        budget_id=row.budget_id,
        budget_name=row.budget.name if row.budget else "",
        thresholds=list(row.thresholds),
        measure=row.measure,
        scope=row.scope,
        scope_name=scope_name(row) if row.scope else "",
        minimum_impact=row.minimum_impact,
        currency=row.currency,
        frequency=row.frequency,
        saved_view_id=row.saved_view_id,
        saved_view_name=row.saved_view.name if row.saved_view else "",
        is_view_shared=row.saved_view is not None and row.saved_view.is_shared,
        minimum_percent=row.minimum_percent,
        unit_metric_name=row.unit_metric.name if row.unit_metric else "",
        target=row.target,
        paused=row.paused_at is not None,
        paused_at=row.paused_at,
        last_fired_at=getattr(row, "last_fired_at", None),
        created_at=row.created_at,
        created_by=row.created_by.email if row.created_by else "",
        warning=_limit_warning(limits) or _warning(row, watches, currencies),
    )


def _limit_warning(limits: Sequence[str]) -> str:
    """Return that these limits silence the subscription; empty without a limit."""
    if not limits:
        return ""
    names = join_with_and([quote(name) for name in dict.fromkeys(limits)])
    return f"Cost access is limited to {names}, and this contains other cost."


def _warning(row: AlertSubscription, watches: Sequence[str], currencies: Sequence[str]) -> str:
    """Return why the subscription sends nothing. `currencies` are those of the account's amounts."""
    if row.saved_view is not None and not row.saved_view.is_shared:
        return "The saved view is no longer shared. Share it to send it."
    if row.currency and currencies and row.currency not in currencies:
        return (
            f"Cost is in {join_with_and(list(currencies))}, so nothing reaches an amount in {row.currency}. "
            "Edit the currency."
        )
    dimension = dimension_of(row)
    if (
        row.trigger != Trigger.ANOMALY
        or dimension == SERVICE
        or fold_case(dimension) in map(fold_case, watches)
    ):
        return ""
    return f"The account no longer monitors anomalies by {dimension}. Turn it on in Anomalies, Settings."


def subscription_text(row: AlertSubscription, named: Callable[[str], str] = str) -> str:
    """Describe a subscription: `Budget Cloud at 80% and 100% of the actual cost, to Ops`. Load related rows first,
    else each is a query.

    `named` formats the names; use `quote` for assistants.
    """
    return f"{trigger_text(row, named)}, to {named(row.channel.name)}"


def trigger_text(row: AlertSubscription, named: Callable[[str], str] = str) -> str:
    """Describe a subscription without its channel."""
    if row.budget is not None:
        percents = join_with_and([f"{each}%" for each in row.thresholds])
        measure_text = "of the actual cost" if row.measure == Measure.ACTUAL else "by the forecast"
        return f"Budget {named(row.budget.name)} at {percents} {measure_text}"
    if row.trigger == Trigger.DIGEST:
        return f"{row.frequency.capitalize()} digest"
    if row.trigger == Trigger.IMPORT:
        return "Imports that need review"
    if row.trigger == Trigger.SOURCE:
        return "Sources that are late or failing"
    if row.saved_view is not None or row.unit_metric is not None:
        return _measure_text(row, named)
    of = scope_name(row)
    where = (
        "the whole account"
        if of == WHOLE_ACCOUNT
        else f"{row.get_scope_display().removeprefix('One ')} {named(of)}"
    )
    smallest = row.minimum_impact
    return f"Anomalies of {where}{'' if smallest is None else f' from {money(smallest, row.currency)} on'}"


PERIOD_NOUNS: Final = {"daily": "day", "weekly": "week", "monthly": "month"}


def _measure_text(row: AlertSubscription, named: Callable[[str], str]) -> str:
    """Describe the trigger of a saved view or a unit cost."""
    period = PERIOD_NOUNS[row.frequency]
    if row.unit_metric is not None:
        target = "" if row.target is None else f"{exact_number(row.target)} {row.currency}"
        return f"Unit cost {named(row.unit_metric.name)} above {target} in a {period}"
    view = named(row.saved_view.name) if row.saved_view is not None else ""
    if row.trigger == Trigger.VIEW_REPORT:
        return f"{row.frequency.capitalize()} report of {view}"
    parts = [f"{row.minimum_percent}%"] if row.minimum_percent is not None else []
    parts += [money(row.minimum_impact, row.currency)] if row.minimum_impact else []
    return f"Change of {view} by {join_with_and(parts)} or more in a {period}"
