"""Writes on cost tags. The caller checks permissions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from accounts import audit
from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.cost_tags.resolution import PREFIX, context_of, dimension_of
from finops.allocation.cost_tags.schemas import CostTagEffectRow, MonthEffect
from finops.allocation.cost_tags.uses import uses_of
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tag_effect import effect
from finops.allocation.rules import CostTagDraft, Rule, read_rules, write_rules
from finops.allocation.rules.yaml import draft_from_yaml, draft_to_yaml
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.money import round_amount
from finops.lib.sentences import join_with_and

MAX_COST_TAGS = 100

AUDITED_ROWS = 200
"""The maximum of moves by month and value in one audit log entry."""


@transaction.atomic
def create_cost_tag(
    *,
    account: Account,
    actor: Actor,
    key: str,
    description: str = "",
    rules: Sequence[Rule] = (),
    default_value: str = "",
) -> CostTag:
    """Create a cost tag. The next answer already has the dimension `cost_tag:<key>`.

    Raises RuleError for invalid rules, ValidationError for a key that is empty, too long or taken, UserError above
    100 cost tags.
    """
    draft = validate_draft(
        CostTagDraft(key=key, description=description, rules=tuple(rules), default_value=default_value)
    )
    with account_scope(account):
        if CostTag.objects.count() >= MAX_COST_TAGS:
            raise UserError(f"The maximum is {MAX_COST_TAGS} cost tags per account. Delete some first.")
        cost_tag = CostTag(account=account, key=draft.key, created_by=actor.user)
        _fill(cost_tag, draft, actor)
        effect_summary = effect_detail(account, None, draft)
        cost_tag.save(force_insert=True)
    audit.record(
        account=account,
        actor=actor,
        action="cost_tag.create",
        target=cost_tag.key,
        detail={"rules": len(draft.rules), "default_value": draft.default_value, **effect_summary},
    )
    return cost_tag


@transaction.atomic
def save_cost_tag(
    *,
    cost_tag: CostTag,
    actor: Actor,
    version: int,
    rules: Sequence[Rule],
    default_value: str,
    description: str,
) -> CostTag:
    """Replace all rules of a cost tag. Every answer uses the new rules from now on, also for past days.

    `version` is the version that the change started from. Raises UserError, with who and when, when somebody has
    saved the cost tag since, and otherwise as `create_cost_tag` does. The audit log keeps what moved, by month.
    """
    account = cost_tag.account
    draft = validate_draft(
        CostTagDraft(
            key=cost_tag.key, description=description, rules=tuple(rules), default_value=default_value
        )
    )
    with account_scope(account):
        current = CostTag.objects.select_for_update().filter(pk=cost_tag.pk).first()
        if current is None:
            raise UserError(f"Cost tag {cost_tag.key!r} was deleted.")
        if current.version != version:
            raise UserError(_lost_update(current), field="version", value=version)
        effect_summary = effect_detail(account, current, draft)
        current.version += 1
        _fill(current, draft, actor)
        current.save()
    audit.record(
        account=account,
        actor=actor,
        action="cost_tag.change",
        target=current.key,
        detail={
            "version": current.version,
            "rules": len(draft.rules),
            "default_value": draft.default_value,
            **effect_summary,
        },
    )
    return current


@transaction.atomic
def delete_cost_tag(*, cost_tag: CostTag, actor: Actor) -> None:
    """Delete a cost tag. Raises UserError that names its uses."""
    account = cost_tag.account
    with account_scope(account):
        used_by = uses_of(account, f"{PREFIX}{cost_tag.key}")
        if used_by:
            raise UserError(
                f"Cost tag {cost_tag.key!r} is used by {join_with_and(used_by)}. Change or delete those first.",
                value=cost_tag.key,
            )
        CostTag.objects.filter(pk=cost_tag.pk).delete()
    audit.record(
        account=account,
        actor=actor,
        action="cost_tag.delete",
        target=cost_tag.key,
        detail={"rules": cost_tag.rules, "default_value": cost_tag.default_value},
    )


def validate_draft(draft: CostTagDraft) -> CostTagDraft:
    """Return the draft as it will be stored, checked against every limit of a rule document. Raises RuleError."""
    return CostTagDraft(
        key=draft.key.strip(),
        description=draft.description.strip(),
        default_value=draft.default_value.strip(),
        rules=read_rules(write_rules(draft.rules)),
    )


def cost_tag_from_yaml(text: str) -> CostTagDraft:
    """Read the cost tag of a YAML file. Raises RuleError that names line, rule and field."""
    return draft_from_yaml(text)


def cost_tag_to_yaml(cost_tag: CostTag) -> str:
    """Write the file that `cost_tag_from_yaml` reads as an equal cost tag."""
    return draft_to_yaml(draft_of(cost_tag))


def draft_of(cost_tag: CostTag) -> CostTagDraft:
    """Return the draft of a stored cost tag."""
    return CostTagDraft(
        key=cost_tag.key,
        description=cost_tag.description,
        default_value=cost_tag.default_value,
        rules=read_rules(cost_tag.rules),
    )


def effect_detail(account: Account, cost_tag: CostTag | None, draft: CostTagDraft) -> dict[str, Any]:
    """Return the change's effect for the audit log: every month, and the values that move most.

    The change is saved even when the effect cannot be computed in time; the entry then has the reason.
    """
    try:
        tag_effect = effect(account, cost_tag, draft)
    except UserError as error:
        return {"effect": [], "effect_unknown": error.message}
    months = [_month_snapshot(month) for month in tag_effect.months if month.changed_lines]
    largest = sorted(tag_effect.rows, key=lambda row: row.moved.copy_abs(), reverse=True)[:AUDITED_ROWS]
    rows = [
        _row_snapshot(row) for row in sorted(largest, key=lambda row: (row.month, row.currency, row.value))
    ]
    more = len(tag_effect.rows) - len(rows)
    return {"effect": months, "moved": rows, **({"moved_not_listed": more} if more else {})}


def _month_snapshot(month: MonthEffect) -> dict[str, Any]:
    return {
        "month": f"{month.month:%Y-%m}",
        "closed": month.is_closed,
        "changed": str(round_amount(month.changed)),
        "of": str(round_amount(month.total)),
        "currency": month.currency,
    }


def _row_snapshot(row: CostTagEffectRow) -> dict[str, Any]:
    return {
        "month": f"{row.month:%Y-%m}",
        "value": row.value,
        "before": str(round_amount(row.before)),
        "after": str(round_amount(row.after)),
        "moved": str(round_amount(row.moved)),
        "currency": row.currency,
    }


def _fill(cost_tag: CostTag, draft: CostTagDraft, actor: Actor) -> None:
    cost_tag.description = draft.description
    cost_tag.default_value = draft.default_value
    cost_tag.rules = write_rules(draft.rules)
    cost_tag.changed_at = clock.now()
    cost_tag.changed_by = actor.label[:254]
    # The account is not excluded, so that the constraint on its keys is checked; rules are checked as a document.
    cost_tag.full_clean(exclude=["created_by", "rules"])
    dimension_of(context_of(cost_tag.account), draft)


def _lost_update(current: CostTag) -> str:
    return (
        f"Cost tag {current.key!r} was changed by {current.changed_by or 'somebody'} on "
        f"{current.changed_at:%Y-%m-%d at %H:%M} UTC while you were editing. Reopen it and apply your "
        "change again."
    )
