"""Writes on shared-cost splits. The caller checks permissions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope, existing, lock_account
from finops.allocation.cost_tags.resolution import context_of
from finops.allocation.models import SharedCostSplit
from finops.allocation.splits.rules import FIXED, USAGE
from finops.allocation.splits.validation import MAX_TARGETS, check_targets, with_percents
from finops.costs.dimensions import Dimension, DimensionContext, registry
from finops.lib.errors import UserError
from finops.lib.sentences import truncate
from ingestion.queries import find_metric, metrics_of

MAX_SPLITS = 100
"""The maximum of splits: every question after splits evaluates each."""

SHOWN = 60


@dataclass(frozen=True)
class SplitDraft:
    """The fields of a split. `targets` are (value, percent). Percentages are read with method fixed only, the metric
    and `every_customer` with method usage only."""

    name: str
    dimension: str
    source_value: str
    method: str
    targets: Sequence[tuple[str, str]] = ()
    every_customer: bool = False
    usage_metric: str = ""
    valid_from: date | None = None
    valid_to: date | None = None


@transaction.atomic
def create_split(*, account: Account, actor: Actor, draft: SplitDraft) -> SharedCostSplit:
    """Create a split. From now on every question after splits applies it, also to past days within its dates.

    Raises UserError with the reason for what `validate_split` refuses and above 100 splits; ValidationError for a
    name that is taken.
    """
    lock_account(account)  # two that are saved at once could each be the other's target
    with account_scope(account):
        if SharedCostSplit.objects.count() >= MAX_SPLITS:
            raise UserError(f"The maximum is {MAX_SPLITS} splits per account. Delete one first.")
        split = validate_split(account, draft, SharedCostSplit(account=account))
        split.full_clean()
        split.save(force_insert=True)
    audit.record(
        account=account, actor=actor, action="split.create", target=split.name, detail=_audit_snapshot(split)
    )
    return split


@transaction.atomic
def save_split(*, split: SharedCostSplit, actor: Actor, draft: SplitDraft) -> SharedCostSplit:
    """Replace all fields of a split. Raises as `create_split` does, and when the split no longer exists."""
    account = split.account
    lock_account(account)  # two that are saved at once could each be the other's target
    with account_scope(account):
        current = existing(SharedCostSplit.objects.select_for_update(), split, "split")
        before = _audit_snapshot(current)
        current = validate_split(account, draft, current)
        current.full_clean()
        current.save()
    detail = {"from": before, "to": _audit_snapshot(current)}
    audit.record(account=account, actor=actor, action="split.change", target=current.name, detail=detail)
    return current


@transaction.atomic
def delete_split(*, split: SharedCostSplit, actor: Actor) -> None:
    """Delete a split; cost stays at its source, also for past days. Raises UserError when it is already deleted."""
    with account_scope(split.account):
        current = existing(SharedCostSplit.objects.select_for_update(), split, "split")
        snapshot = _audit_snapshot(current)
        current.delete()
    audit.record(
        account=split.account, actor=actor, action="split.delete", target=current.name, detail=snapshot
    )


def validate_split(account: Account, draft: SplitDraft, split: SharedCostSplit) -> SharedCostSplit:
    """Return the split of the draft, not saved. The account must be in scope.

    Raises UserError with the reason: an unknown dimension or metric; no, duplicate or too many targets; percentages
    that do not add up to 100; a source that is a target of this or another split; a target that is a source; a cycle;
    a second split of the source on the same days.
    """
    context = context_of(account)
    dimension = _dimension(context, draft.dimension.strip())
    every = draft.method == USAGE and draft.every_customer
    targets = [] if every else [(value.strip(), percent) for value, percent in draft.targets]
    split.name = draft.name.strip()
    split.dimension = dimension.name
    split.source_value = _source(draft)
    split.method = _method(draft.method)
    split.targets = _targets(split, targets)
    split.every_customer = every
    split.usage_metric = _metric(account, draft) if draft.method == USAGE else ""
    split.valid_from, split.valid_to = draft.valid_from, draft.valid_to
    if split.valid_from and split.valid_to and split.valid_to < split.valid_from:
        raise UserError("The last day of a split must not be before its first.", field="valid_to")
    check_targets(split, _others(context, dimension, split), every=every)
    return split


def _source(draft: SplitDraft) -> str:
    if not draft.source_value.strip():
        raise UserError("Choose a value. Use listDimensionValues.", field="source_value")
    return draft.source_value.strip()


def _method(method: str) -> str:
    if method not in SharedCostSplit.Method.values:
        raise UserError(
            f"method: {truncate(method, SHOWN)!r} is not one of {', '.join(SharedCostSplit.Method.values)}.",
            field="method",
            value=method,
        )
    return method


def _targets(split: SharedCostSplit, targets: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    if len(targets) > MAX_TARGETS:
        raise UserError(
            f"{len(targets)} targets; the maximum is {MAX_TARGETS}. Split among all customers of a "
            "usage metric instead.",
            field="targets",
        )
    if split.method == FIXED:
        return with_percents(targets)
    return [{"value": value, "percent": None} for value, _percent in targets]


def _dimension(context: DimensionContext, name: str) -> Dimension:
    """Return the dimension if cost lines have it. Raises UserError with the nearest names."""
    if not name:
        raise UserError("Choose a dimension.", field="dimension")
    return registry.resolve_in_data(context, name, field="dimension", plans_ahead=True)


def _metric(account: Account, draft: SplitDraft) -> str:
    if not draft.usage_metric.strip():
        raise UserError("Choose a usage metric.", field="usage_metric")
    metrics = metrics_of(account)
    if not metrics:
        return draft.usage_metric.strip()  # an account without usage may plan ahead
    return find_metric(metrics, draft.usage_metric).name


def _others(context: DimensionContext, dimension: Dimension, split: SharedCostSplit) -> list[SharedCostSplit]:
    """Return the other splits of the same values, also those on an alias of the dimension, such as product."""
    other_splits = SharedCostSplit.objects.exclude(pk=split.pk)
    return [other for other in other_splits if _is_same(context, dimension, other.dimension)]


def _is_same(context: DimensionContext, dimension: Dimension, name: str) -> bool:
    if name == dimension.name:
        return True
    try:
        return registry.resolve(context, name).value == dimension.value
    except UserError:
        # The cost tag was deleted since: such a split moves nothing.
        return False


def _audit_snapshot(split: SharedCostSplit) -> dict[str, Any]:
    return {
        "dimension": split.dimension,
        "source_value": split.source_value,
        "method": split.method,
        "targets": split.targets,
        "every_customer": split.every_customer,
        "usage_metric": split.usage_metric,
        "valid_from": split.valid_from.isoformat() if split.valid_from else None,
        "valid_to": split.valid_to.isoformat() if split.valid_to else None,
    }
