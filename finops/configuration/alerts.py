"""Alert subscriptions in configuration as code. Channels are named: their addresses hold secrets and stay in the console."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.alerts import services
from finops.alerts.models import AlertSubscription
from finops.alerts.subscription_drafts import DEFAULT_THRESHOLDS, Measure, SubscriptionDraft, Trigger
from finops.budgets.scopes import named_scope
from finops.configuration.kind import Bodies, Body, ConfigurationKind, body_of, plain_decimal, read_entry

_RELATED: Final = (
    "account",
    "channel",
    "budget",
    "cost_source",
    "team",
    "cost_tag",
    "saved_view",
    "unit_metric",
)
_NAME_FIELDS: Final = (
    *("budget", "cost_source", "team", "cost_tag", "cost_tag_value", "saved_view", "unit_metric"),
    *("measure", "frequency", "currency"),
)
"""The fields that distinguish the subscriptions of a channel and trigger."""


class _AlertEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """As SubscriptionDraft, its scope by what is named."""

    channel: str
    trigger: str
    budget: str = ""
    thresholds: list[int] = []
    measure: str = ""
    cost_source: str = ""
    team: str = ""
    cost_tag: str = ""
    cost_tag_value: str = ""
    minimum_impact: Decimal | None = None
    currency: str = ""
    frequency: str = ""
    saved_view: str = ""
    minimum_percent: int | None = None
    unit_metric: str = ""
    target: Decimal | None = None
    paused: bool = False


def _rows() -> dict[str, Body]:
    return dict(_body(_entry(rows)) for rows in _subscriptions().values())


def _subscriptions() -> dict[str, list[AlertSubscription]]:
    """By name in lower case, the oldest first. Several of a name are thresholds of one budget; of those that are paused
    and those that are not, the latter alone: they are what is sent."""
    groups: dict[str, list[AlertSubscription]] = defaultdict(list)
    for row in AlertSubscription.objects.select_related(*_RELATED).order_by("pk"):
        groups[_name(_entry([row])).casefold()].append(row)
    names = sorted(groups)
    return {name: [row for row in groups[name] if not row.paused_at] or groups[name] for name in names}


def _entry(rows: Sequence[AlertSubscription]) -> _AlertEntry:
    row = rows[0]
    return _AlertEntry(
        channel=row.channel.name,
        trigger=row.trigger,
        budget=row.budget.name if row.budget else "",
        thresholds=sorted({each for same in rows for each in same.thresholds}),
        measure=row.measure,
        cost_source=row.cost_source.name if row.cost_source else "",
        team=row.team.name if row.team else "",
        cost_tag=row.cost_tag.key if row.cost_tag else "",
        cost_tag_value=row.cost_tag_value,
        minimum_impact=row.minimum_impact,
        currency=row.currency,
        frequency=row.frequency,
        saved_view=row.saved_view.name if row.saved_view else "",
        minimum_percent=row.minimum_percent,
        unit_metric=row.unit_metric.name if row.unit_metric else "",
        target=row.target,
        paused=row.paused_at is not None,
    )


def _name(entry: _AlertEntry) -> str:
    """Its channel, trigger and what it is about: subscriptions have no name of their own."""
    parts = [value for field in _NAME_FIELDS if (value := getattr(entry, field))]
    if entry.trigger == Trigger.VIEW_CHANGE:
        parts.append("amount" if entry.minimum_percent is None else "percent")
    return f"{entry.channel}: {', '.join([entry.trigger, *parts])}"


def _body(entry: _AlertEntry) -> tuple[str, Body]:
    """Numbers as plain text: 10 and 10.00 are no change."""
    body = body_of(entry)
    for field in ("minimum_impact", "target"):
        if (amount := getattr(entry, field)) is not None:
            body[field] = plain_decimal(amount)
    return _name(entry), body


def _read(raw: Any) -> tuple[str, Body]:
    return _body(_with_defaults(read_entry(raw, _AlertEntry)))


def _with_defaults(entry: _AlertEntry) -> _AlertEntry:
    """A budget's thresholds and measure, as the console fills them in."""
    if entry.trigger != Trigger.BUDGET:
        return entry
    thresholds = sorted(set(entry.thresholds or DEFAULT_THRESHOLDS))
    return msgspec.structs.replace(
        entry, thresholds=thresholds, measure=entry.measure or Measure.ACTUAL.value
    )


def _write(account: Account, actor: Actor, bodies: Bodies) -> None:
    subscriptions = _subscriptions()
    for name, body in bodies.items():
        entry = msgspec.convert(body, _AlertEntry, strict=False)
        row = _save(account, actor, subscriptions.get(name.casefold(), []), _draft(entry))
        if entry.paused:
            services.pause_alert_subscription(subscription=row, actor=actor)
        else:
            services.resume_alert_subscription(subscription=row, actor=actor)


def _save(
    account: Account, actor: Actor, rows: Sequence[AlertSubscription], draft: SubscriptionDraft
) -> AlertSubscription:
    """One subscription with all thresholds of the draft."""
    if not rows:
        return services.create_alert_subscription(account=account, actor=actor, draft=draft).subscription
    for row in rows[1:]:
        services.delete_alert_subscription(subscription=row, actor=actor)
    return services.change_alert_subscription(subscription=rows[0], actor=actor, draft=draft)


def _draft(entry: _AlertEntry) -> SubscriptionDraft:
    fields = {name: getattr(entry, name) for name in entry.__struct_fields__ if name != "paused"}
    return SubscriptionDraft(**fields, scope=_scope(entry))


def _scope(entry: _AlertEntry) -> str:
    if entry.trigger != Trigger.ANOMALY:
        return ""
    return named_scope(
        cost_source=entry.cost_source,
        team=entry.team,
        cost_tag=entry.cost_tag,
        cost_tag_value=entry.cost_tag_value,
    )


def _delete(actor: Actor, names: Sequence[str]) -> None:
    subscriptions = _subscriptions()
    for name in names:
        for row in subscriptions.get(name.casefold(), []):
            services.delete_alert_subscription(subscription=row, actor=actor)


KIND: Final = ConfigurationKind("alerts", _rows, _read, _write, _delete, release=_delete)
"""Deleted first: a channel cannot have two subscriptions of the same."""
