"""The kinds of configuration as code: how the rows of each are written in a file, and which services write them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Final

import msgspec

from accounts.audit import Actor
from accounts.models import Account
from finops.allocation.models import CostTag, Team
from finops.allocation.rules import CostTagDraft
from finops.allocation.rules.document import dimensions_of, write_draft
from finops.allocation.rules.parser import read_draft
from finops.allocation.services import cost_tags, teams
from finops.budgets import services as budgets
from finops.budgets.models import Budget
from finops.budgets.scopes import ScopeDraft, named_scope, visible_budgets
from finops.budgets.services import BudgetDraft
from finops.configuration import ai_prices, alerts, dashboards, keys, saved_views, splits, unit_metrics
from finops.configuration.kind import Bodies, Body, ConfigurationKind, body_of, plain_decimal, read_entry
from finops.lib.errors import UserError


class _TeamEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    description: str = ""
    values: list[str] = []


def _team_rows() -> dict[str, Body]:
    rows = Team.objects.prefetch_related("values")
    return dict(
        _team_body(row.name, row.description, [each.value for each in row.values.all()]) for row in rows
    )


def _team_body(name: str, description: str, values: Sequence[str]) -> tuple[str, Body]:
    entry = _TeamEntry(name=name.strip(), description=description.strip(), values=sorted(values))
    return entry.name, body_of(entry)


def _read_team(raw: Any) -> tuple[str, Body]:
    entry = read_entry(raw, _TeamEntry)
    return _team_body(entry.name, entry.description, entry.values)


def _write_teams(account: Account, actor: Actor, bodies: Bodies) -> None:
    """A value that moves from one team to another is released before it is owned."""
    rows = {row.name.casefold(): row for row in Team.objects.prefetch_related("values")}
    for name, body in bodies.items():
        if row := rows.get(name.casefold()):
            _release_values(row, actor, keep=body.get("values", []))
    for name, body in bodies.items():
        row, description = rows.get(name.casefold()), body.get("description", "")
        if row is None:
            row = teams.create_team(account=account, actor=actor, name=name, description=description)
        elif (row.name, row.description) != (name, description):
            row = teams.change_team(team=row, actor=actor, name=name, description=description)
        values = {each.value for each in row.values.all()}
        for value in body.get("values", []):
            if value not in values:
                teams.own_value(team=row, actor=actor, value=value)


def _release_values(row: Team, actor: Actor, *, keep: Sequence[str] = ()) -> None:
    for each in row.values.all():
        if each.value not in keep:
            teams.release_value(owned=each, actor=actor)


def _release_teams(actor: Actor, names: Sequence[str]) -> None:
    for row in Team.objects.filter(name__in=names).prefetch_related("values"):
        _release_values(row, actor)


def _delete_teams(actor: Actor, names: Sequence[str]) -> None:
    for row in Team.objects.filter(name__in=names):
        teams.delete_team(team=row, actor=actor)


def _cost_tag_rows() -> dict[str, Body]:
    drafts = [cost_tags.draft_of(row) for row in CostTag.objects.order_by("key")]
    return {draft.key: write_draft(draft) for draft in drafts}


def _read_cost_tag(raw: Any) -> tuple[str, Body]:
    draft = cost_tags.validate_draft(read_draft(raw))
    return draft.key, write_draft(draft)


def _write_cost_tags(account: Account, actor: Actor, bodies: Bodies) -> None:
    rows = {row.key.casefold(): row for row in CostTag.objects.all()}
    for draft in _in_order_of_use([read_draft(body) for body in bodies.values()]):
        row = rows.get(draft.key.casefold())
        if row is not None and row.key != draft.key:
            raise UserError(f"Cost tag {draft.key!r} exists as {row.key!r}. Write its key so.", field="key")
        fields: dict[str, Any] = {
            "actor": actor,
            "rules": draft.rules,
            "default_value": draft.default_value,
            "description": draft.description,
        }
        if row is None:
            cost_tags.create_cost_tag(account=account, key=draft.key, **fields)
        else:
            cost_tags.save_cost_tag(cost_tag=row, version=row.version, **fields)


def _in_order_of_use(drafts: Sequence[CostTagDraft]) -> list[CostTagDraft]:
    """Cost tags in an order in which each finds the ones that its rules name. A cycle comes last, for the service to
    refuse."""
    order: list[CostTagDraft] = []
    remaining = list(drafts)
    while remaining:
        names = {f"cost_tag:{draft.key}" for draft in remaining}
        independent = [
            draft
            for draft in remaining
            if not names & set(dimensions_of(draft.rules)) - {f"cost_tag:{draft.key}"}
        ]
        order += independent or remaining
        remaining = [draft for draft in remaining if independent and draft not in independent]
    return order


def _delete_cost_tags(actor: Actor, names: Sequence[str]) -> None:
    rows = {row.key: row for row in CostTag.objects.filter(key__in=names)}
    for draft in reversed(_in_order_of_use([cost_tags.draft_of(row) for row in rows.values()])):
        cost_tags.delete_cost_tag(cost_tag=rows[draft.key], actor=actor)


class _BudgetEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Rows of a scope by name: ids are another account's."""

    name: str
    amount: Decimal
    currency: str
    frequency: str = "monthly"
    cost_source: str = ""
    team: str = ""
    cost_tag: str = ""
    cost_tag_value: str = ""
    warning_percent: int = 80
    amounts: dict[date, Decimal] = {}


def _budget_rows() -> dict[str, Body]:
    rows = Budget.objects.select_related("cost_source", "team", "cost_tag").prefetch_related("amounts")
    return dict(_budget_body(_budget_entry(row)) for row in visible_budgets(rows))


def _budget_entry(row: Budget) -> _BudgetEntry:
    return _BudgetEntry(
        name=row.name,
        amount=row.amount,
        currency=row.currency,
        frequency=row.period,
        cost_source=row.cost_source.name if row.cost_source else "",
        team=row.team.name if row.team else "",
        cost_tag=row.cost_tag.key if row.cost_tag else "",
        cost_tag_value=row.cost_tag_value,
        warning_percent=row.warning_percent,
        amounts={each.starts_on: each.amount for each in row.amounts.all()},
    )


def _budget_body(entry: _BudgetEntry) -> tuple[str, Body]:
    """Amounts without trailing zeros, and everything as text: 1000 and 1000.00 are no change."""
    body = body_of(entry)
    body["amount"] = plain_decimal(entry.amount)
    if "warning_percent" in body:
        body["warning_percent"] = str(entry.warning_percent)
    if entry.amounts:
        body["amounts"] = {str(day): plain_decimal(amount) for day, amount in sorted(entry.amounts.items())}
    return entry.name, body


def _read_budget(raw: Any) -> tuple[str, Body]:
    return _budget_body(read_entry(raw, _BudgetEntry))


def _write_budgets(account: Account, actor: Actor, bodies: Bodies) -> None:
    rows = {row.name.casefold(): row for row in Budget.objects.all()}
    for name, body in bodies.items():
        draft = _budget_draft(msgspec.convert(body, _BudgetEntry, strict=False))
        row = rows.get(name.casefold())
        if row is None:
            budgets.create_budget(account=account, actor=actor, draft=draft)
        else:
            budgets.change_budget(budget=row, actor=actor, draft=draft)


def _budget_draft(entry: _BudgetEntry) -> BudgetDraft:
    scope = named_scope(
        cost_source=entry.cost_source,
        team=entry.team,
        cost_tag=entry.cost_tag,
        cost_tag_value=entry.cost_tag_value,
    )
    return BudgetDraft(
        name=entry.name,
        amount=entry.amount,
        currency=entry.currency,
        period=entry.frequency,
        scope=ScopeDraft(
            scope=scope or "account",
            cost_source=entry.cost_source,
            team=entry.team,
            cost_tag=entry.cost_tag,
            cost_tag_value=entry.cost_tag_value,
        ),
        warning_percent=entry.warning_percent,
        amounts=entry.amounts,
    )


def _delete_budgets(actor: Actor, names: Sequence[str]) -> None:
    for row in Budget.objects.filter(name__in=names):
        budgets.delete_budget(budget=row, actor=actor)


KINDS: Final = (
    ConfigurationKind("teams", _team_rows, _read_team, _write_teams, _delete_teams, _release_teams),
    ConfigurationKind("cost_tags", _cost_tag_rows, _read_cost_tag, _write_cost_tags, _delete_cost_tags),
    keys.KIND,
    splits.KIND,
    unit_metrics.KIND,
    ai_prices.KIND,
    saved_views.KIND,
    ConfigurationKind("budgets", _budget_rows, _read_budget, _write_budgets, _delete_budgets),
    dashboards.KIND,
    alerts.KIND,
)
"""Each after those that its rows name."""
