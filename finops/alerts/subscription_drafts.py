"""Requested subscriptions: validated and resolved to rows. Reads only."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from finops.alerts.models import AlertChannel, AlertSubscription
from finops.budgets.models import Budget
from finops.budgets.scopes import Reference, ResolvedScope, ScopeDraft, find_row, find_scope
from finops.costs.dictionary_encoding import fold_case
from finops.costs.models import SavedView
from finops.lib.currencies import currency_code
from finops.lib.errors import UserError, unknown_value
from finops.lib.text_validation import single_line
from finops.unitcosts.models import UnitMetric

Trigger, Measure = AlertSubscription.Trigger, AlertSubscription.Measure
Scope, Frequency = AlertSubscription.Scope, AlertSubscription.Frequency

DEFAULT_THRESHOLDS: Final = (80, 100)
MAX_THRESHOLDS: Final = 10
PERCENTS: Final = range(1, 1001)
MAX_VALUE: Final = 255
LARGEST_IMPACT: Final = Decimal(10) ** 15
TARGET_PLACES: Final = 12
DIGEST_FREQUENCIES: Final = (Frequency.WEEKLY.value, Frequency.MONTHLY.value)


@dataclass(frozen=True, kw_only=True)
class SubscriptionDraft:
    """A requested subscription. Rows are given by name or id. Fields of other triggers stay empty.

    `budget`: `budget`, `thresholds` in percent (80 and 100), `measure` (actual). `anomaly`: `scope` (account) with
    its row, `minimum_impact` with its `currency` (empty: every anomaly in any currency). `digest`: `frequency`.
    `import` and `source`: nothing. `view_report`: `saved_view` (a shared one) and `frequency`. `view_change`: the
    same, with `minimum_percent`, or `minimum_impact` and `currency`, or both, which must then both be reached.
    `unit_cost`: `unit_metric`, `target` with its `currency`, `frequency`.
    """

    channel: Reference
    trigger: str
    budget: Reference = None
    thresholds: Sequence[int] = ()
    measure: str = ""
    scope: str = ""
    cost_source: Reference = None
    team: Reference = None
    cost_tag: Reference = None
    cost_tag_value: str = ""
    minimum_impact: Decimal | None = None
    currency: str = ""
    frequency: str = ""
    saved_view: Reference = None
    minimum_percent: int | None = None
    unit_metric: Reference = None
    target: Decimal | None = None


@dataclass(frozen=True, kw_only=True)
class ResolvedSubscription:
    """The same subscription with ids of rows, all of the account in scope."""

    channel_id: int
    trigger: str
    budget_id: int | None = None
    thresholds: tuple[int, ...] = ()
    measure: str = ""
    scope: ResolvedScope | None = None
    minimum_impact: Decimal | None = None
    currency: str = ""
    frequency: str = ""
    saved_view_id: int | None = None
    minimum_percent: int | None = None
    unit_metric_id: int | None = None
    target: Decimal | None = None

    @property
    def fingerprint(self) -> str:
        """Return a fingerprint of channel, trigger and subject. Without impacts: two for one scope would send twice."""
        scope = self.scope
        about: tuple[object, ...] = (
            (self.budget_id, self.measure, self.thresholds),
            scope and (scope.scope, scope.cost_source_id, scope.team_id, scope.cost_tag_id),
            scope and fold_case(scope.cost_tag_value),
            self.currency,
            self.frequency,
        )
        if self.saved_view_id is not None or self.unit_metric_id is not None:
            about = (*about, self.saved_view_id, self.unit_metric_id, self.minimum_percent is None)
        return hashlib.sha256(repr((self.channel_id, self.trigger, about)).encode()).hexdigest()


_TAKES: Final = {
    Trigger.BUDGET.value: ("budget", "thresholds", "measure"),
    Trigger.ANOMALY.value: (
        "scope",
        "cost_source",
        "team",
        "cost_tag",
        "cost_tag_value",
        "minimum_impact",
        "currency",
    ),
    Trigger.DIGEST.value: ("frequency",),
    Trigger.IMPORT.value: (),
    Trigger.SOURCE.value: (),
    Trigger.VIEW_REPORT.value: ("saved_view", "frequency"),
    Trigger.VIEW_CHANGE.value: ("saved_view", "frequency", "minimum_percent", "minimum_impact", "currency"),
    Trigger.UNIT_COST.value: ("unit_metric", "target", "currency", "frequency"),
}
_ALL: Final = tuple(dict.fromkeys(name for names in _TAKES.values() for name in names))


def resolve_draft(draft: SubscriptionDraft) -> ResolvedSubscription:
    """Resolve a draft to rows of the account in scope: three queries at most. Raises UserError for what is missing,
    unknown (also another account's), out of range, or not allowed with the trigger."""
    takes = _TAKES.get(draft.trigger)
    if takes is None:
        raise unknown_value("trigger", str(draft.trigger), list(_TAKES), show=str)
    for name in _ALL:
        if name not in takes and getattr(draft, name) not in (None, "", (), []):
            raise UserError(
                (
                    f"{name} is not allowed with trigger {draft.trigger}. Remove it; allowed: "
                    f"{', '.join(takes) or 'nothing'}."
                ),
                field=name,
            )
    channel = find_row("channel", draft.channel, AlertChannel.objects, "name")
    if channel is None:
        raise UserError(
            "channel is missing: set the alert channel. Use listAlertChannels; members create "
            "channels on the Alerts page.",
            field="channel",
        )
    return _RESOLVERS[draft.trigger](draft, channel)


def _resolve_plain(draft: SubscriptionDraft, channel: int) -> ResolvedSubscription:
    return ResolvedSubscription(channel_id=channel, trigger=draft.trigger)


def _resolve_digest(draft: SubscriptionDraft, channel: int) -> ResolvedSubscription:
    frequency = _check_choice("frequency", draft.frequency, DIGEST_FREQUENCIES)
    return ResolvedSubscription(channel_id=channel, trigger=draft.trigger, frequency=frequency)


def _resolve_budget(draft: SubscriptionDraft, channel: int) -> ResolvedSubscription:
    budget = find_row("budget", draft.budget, Budget.objects, "name")
    if budget is None:
        raise UserError("budget is missing: set the budget. Use listBudgets.", field="budget")
    return ResolvedSubscription(
        channel_id=channel,
        trigger=draft.trigger,
        budget_id=budget,
        thresholds=_thresholds(draft.thresholds),
        measure=_check_choice("measure", draft.measure or Measure.ACTUAL.value, Measure.values),
    )


def _thresholds(percentages: Sequence[int]) -> tuple[int, ...]:
    thresholds = sorted(set(percentages or DEFAULT_THRESHOLDS))
    wrong = [each for each in thresholds if each not in PERCENTS]
    if wrong:
        raise UserError(
            f"thresholds: {wrong[0]} is not a whole percentage from {PERCENTS[0]} to {PERCENTS[-1]} of the budget's amount.",
            field="thresholds",
            value=wrong[0],
        )
    if len(thresholds) > MAX_THRESHOLDS:
        raise UserError(
            f"thresholds: {len(thresholds)} given; the maximum is {MAX_THRESHOLDS}.",
            field="thresholds",
        )
    return tuple(thresholds)


def _resolve_anomalies(draft: SubscriptionDraft, channel: int) -> ResolvedSubscription:
    scope = ScopeDraft(
        scope=draft.scope or Scope.ACCOUNT.value,
        cost_source=draft.cost_source,
        team=draft.team,
        cost_tag=draft.cost_tag,
        cost_tag_value=single_line(draft.cost_tag_value, field="cost_tag_value", longest=MAX_VALUE),
    )
    impact, currency = _impact(draft)
    return ResolvedSubscription(
        channel_id=channel,
        trigger=draft.trigger,
        scope=find_scope(scope, of="an alert"),
        minimum_impact=impact,
        currency=currency,
    )


def _resolve_saved_view(draft: SubscriptionDraft, channel: int) -> ResolvedSubscription:
    """Return the id of a shared view. Personal views are refused: the whole account reads what a channel gets."""
    view = find_row("saved_view", draft.saved_view, SavedView.objects.filter(owner=None), "name")
    if view is None:
        raise UserError("saved_view is missing: set a shared saved view.", field="saved_view")
    impact, currency = _impact(draft, of="change")
    percent = draft.minimum_percent
    if draft.trigger == Trigger.VIEW_CHANGE:
        if percent is None and not impact:
            raise UserError("Enter a change in percent, an amount, or both.", field="minimum_percent")
        if percent is not None and percent not in PERCENTS:
            raise UserError(
                f"minimum_percent: {percent} is not a whole percentage from {PERCENTS[0]} to {PERCENTS[-1]}.",
                field="minimum_percent",
                value=percent,
            )
    return ResolvedSubscription(
        channel_id=channel,
        trigger=draft.trigger,
        saved_view_id=view,
        minimum_percent=percent,
        minimum_impact=impact,
        currency=currency,
        frequency=_check_choice("frequency", draft.frequency, Frequency.values),
    )


def _resolve_unit_cost(draft: SubscriptionDraft, channel: int) -> ResolvedSubscription:
    metric = find_row("unit_metric", draft.unit_metric, UnitMetric.objects, "name")
    if metric is None:
        raise UserError("unit_metric is missing: set a saved unit metric.", field="unit_metric")
    target = draft.target
    if target is None:
        raise UserError("target is missing: set the maximum unit cost.", field="target")
    if not (target.is_finite() and 0 <= target < LARGEST_IMPACT) or target != round(target, TARGET_PLACES):
        raise UserError(
            f"target: {target} is not an amount of 0 or more with up to {TARGET_PLACES} decimal places.",
            field="target",
        )
    if not draft.currency.strip():
        raise UserError("currency is missing: set the currency of the target, such as USD.", field="currency")
    return ResolvedSubscription(
        channel_id=channel,
        trigger=draft.trigger,
        unit_metric_id=metric,
        target=target,
        currency=currency_code(draft.currency),
        frequency=_check_choice("frequency", draft.frequency, Frequency.values),
    )


def _impact(draft: SubscriptionDraft, *, of: str = "anomaly") -> tuple[Decimal | None, str]:
    impact = draft.minimum_impact
    if impact is None:
        if draft.currency.strip():
            raise UserError(
                f"minimum_impact is missing: currency needs an amount. 0 means every {of} in that currency.",
                field="minimum_impact",
            )
        return None, ""
    if not draft.currency.strip():
        raise UserError(
            f"currency is missing: set the currency of the minimum_impact of {impact}, such as USD.",
            field="currency",
        )
    currency = currency_code(draft.currency)
    if not (impact.is_finite() and 0 <= impact < LARGEST_IMPACT) or impact != round(impact, 2):
        raise UserError(
            f"minimum_impact: {impact} {currency} is not an amount of 0 or more with up to 2 decimal places.",
            field="minimum_impact",
        )
    return round(impact, 2), currency


def _check_choice(field: str, value: str, choices: Sequence[str]) -> str:
    if not value:
        raise UserError(f"{field} is missing: {' or '.join(choices)}.", field=field)
    if value not in choices:
        raise unknown_value(field, value, choices, show=str)
    return value


_RESOLVERS: Final[dict[str, Callable[[SubscriptionDraft, int], ResolvedSubscription]]] = {
    Trigger.BUDGET: _resolve_budget,
    Trigger.ANOMALY: _resolve_anomalies,
    Trigger.DIGEST: _resolve_digest,
    Trigger.IMPORT: _resolve_plain,
    Trigger.SOURCE: _resolve_plain,
    Trigger.VIEW_REPORT: _resolve_saved_view,
    Trigger.VIEW_CHANGE: _resolve_saved_view,
    Trigger.UNIT_COST: _resolve_unit_cost,
}
