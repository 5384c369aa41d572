"""Derived change events of what people changed, by the audit log: budgets and the rules of cost tags."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final

from django.urls import reverse

from accounts.models import AuditEntry
from finops.allocation.models import CostTag, Team
from finops.allocation.rules.document import Rule
from finops.allocation.services.cost_tags import draft_of
from finops.change_events.event_rules import MAX_VALUES
from finops.change_events.services.derivation import DerivedEvent
from finops.costs.models import CostSource
from finops.lib.sentences import quote

ACTIONS: Final = ("budget.create", "budget.change", "budget.delete", "cost_tag.change")
"""A cost tag that is created or deleted has no cost before or after it to compare."""
_BUDGET_FIELDS: Final = ("period", "scope", "cost_source", "team", "cost_tag", "cost_tag_value")


def audit_events(account_slug: str, since: date) -> list[DerivedEvent]:
    """Of the account in scope; of several changes of one budget or cost tag on a day the last. Three queries."""
    entries = AuditEntry.objects.filter(action__in=ACTIONS, at__gte=datetime.combine(since, time.min, UTC))
    newest: dict[tuple[str, ...], DerivedEvent] = {}
    tags = {tag.key: tag for tag in CostTag.objects.all()}
    for entry in entries.order_by("at", "id"):
        event = (
            _cost_tag_event(entry, tags, account_slug)
            if "tag" in entry.action
            else _budget_event(entry, account_slug)
        )
        if event is not None:
            newest[(*event.key, str(event.day))] = event
    return list(newest.values())


def _cost_tag_event(entry: AuditEntry, tags: dict[str, CostTag], slug: str) -> DerivedEvent:
    tag = tags.get(entry.target)
    values = _values(draft_of(tag).rules) if tag else []
    return _event(
        entry,
        f"Rules of cost tag {quote(entry.target)} changed",
        reverse("cost_tag", args=[slug, tag.pk]) if tag else reverse("cost_tags", args=[slug]),
        {f"cost_tag:{entry.target}": values} if values else {},
    )


def _values(rules: tuple[Rule, ...]) -> list[str]:
    return list(dict.fromkeys(rule.value for rule in rules if rule.value))[:MAX_VALUES]


def _budget_event(entry: AuditEntry, slug: str) -> DerivedEvent | None:
    """None for a change of words alone."""
    detail = entry.detail
    now: dict[str, Any] = detail.get("to", detail)
    name = quote(entry.target)
    if entry.action == "budget.change":
        before = detail.get("from", {})
        if _basis(before) == _basis(now):
            return None
        amounts = _amount(before), _amount(now)
        title = f"Budget {name} changed" + (": {} → {}".format(*amounts) if amounts[0] != amounts[1] else "")
    elif entry.action == "budget.create":
        title = f"Budget {name} created: {_amount(now)}"
    else:
        title = f"Budget {name} deleted"
    return _event(entry, title, reverse("budgets", args=[slug]), _budget_scope(now))


def _basis(snapshot: dict[str, Any]) -> list[Any]:
    """What cost is held against, whatever decimals an amount was recorded with."""
    amounts = [
        (day, _money(text))
        for day, _colon, text in (each.partition(": ") for each in snapshot.get("amounts", ()))
    ]
    return [_amount(snapshot), amounts, *(snapshot.get(field) for field in _BUDGET_FIELDS)]


def _amount(snapshot: dict[str, Any]) -> str:
    """`1,234.50 USD` of the audit log's `1234.500000 USD`."""
    return _money(str(snapshot.get("amount", "")))


def _money(text: str) -> str:
    number, _space, currency = text.partition(" ")
    return f"{Decimal(number):,.2f} {currency}" if number else "?"


def _budget_scope(snapshot: dict[str, Any]) -> dict[str, list[str]]:
    """By the names that source, team and cost tag have now; without them all cost."""
    source_id, team_id, tag_id = (snapshot.get(name) or 0 for name in ("cost_source", "team", "cost_tag"))
    if source := CostSource.objects.filter(pk=source_id).first():
        return {"source": [source.name]}
    if team := Team.objects.filter(pk=team_id).first():
        return {"team": [team.name]}
    if tag := CostTag.objects.filter(pk=tag_id).first():
        return {f"cost_tag:{tag.key}": [snapshot["cost_tag_value"]]}
    return {}


def _event(entry: AuditEntry, title: str, path: str, scope: dict[str, list[str]]) -> DerivedEvent:
    return DerivedEvent(
        key=(entry.action.partition(".")[0], entry.target),
        day=entry.at.astimezone(UTC).date(),
        at=entry.at,
        kind="change",
        title=title,
        actor=entry.actor_label,
        url=path,
        scope=scope,
    )
