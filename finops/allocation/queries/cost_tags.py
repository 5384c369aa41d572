"""Reads about cost tags, the same for tools and pages. The account must be in scope."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from accounts.models import Account
from finops.allocation.cost_tags.schemas import CostTagInfo, CostTagsAnswer, ListedCostTag
from finops.allocation.cost_tags.text import rule_words
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tag_effect import effect
from finops.allocation.queries.cost_tag_preview import preview
from finops.allocation.queries.cost_tag_spend import query_cost_tag
from finops.allocation.rules import Rule, read_rules
from finops.costs.answers import AccountRef
from finops.lib.cursors import next_cursor, offset_of
from finops.lib.errors import unknown_value
from finops.lib.sentences import join_with_and, quote, truncate

MAX_LINES = 100
SHOWN_RULE = 400


def cost_tags_answer(
    account: Account, *, cost_tag: str = "", cursor: str = "", limit: int = MAX_LINES
) -> CostTagsAnswer:
    """Return every cost tag, or the one with this key, with its rules in order; `limit` rules a page. One query.

    Raises UserError for an unknown key and a cursor of another query.
    """
    every = list(CostTag.objects.filter(account=account))
    tags = [_find_cost_tag(every, cost_tag)] if cost_tag.strip() else every
    question = ("cost tags", cost_tag.strip().casefold())
    start = offset_of(cursor, *question)
    lines = list(_lines(tags))
    shown = lines[start : start + limit]
    after = start + len(shown)
    more = after < len(lines)
    return CostTagsAnswer(
        account=AccountRef(slug=account.slug, name=account.name),
        summary=_summary(account, tags),
        cost_tags=_group_by_cost_tag(shown),
        cursor=next_cursor(after, *question) if more and shown else "",
        truncated=f"{len(shown)} of {len(lines)} rules. Use cursor for the next page, or one cost_tag."
        if more
        else "",
        warnings=[],
        hint=_hint(tags),
    )


def _find_cost_tag(every: Sequence[CostTag], key: str) -> CostTag:
    folded_key = key.strip().removeprefix("cost_tag:").casefold()
    for row in every:
        if row.key.casefold() == folded_key:
            return row
    raise unknown_value("cost_tag", key, [row.key for row in every], listed_by="listCostTags")


Line = tuple[CostTag, int, Rule | None]
"""A rule with its number; a cost tag without rules counts as one line."""


def _lines(rows: Sequence[CostTag]) -> Iterator[Line]:
    for row in rows:
        rules: Sequence[Rule | None] = read_rules(row.rules) or (None,)
        yield from ((row, number, rule) for number, rule in enumerate(rules, start=1))


def _group_by_cost_tag(lines: Sequence[Line]) -> list[ListedCostTag]:
    by_id: dict[int, ListedCostTag] = {}
    for row, number, rule in lines:
        listing = by_id.setdefault(row.pk, _listing_of(row, number))
        if rule is not None:
            name = f"{rule.name}: " if rule.name else ""
            listing.rules.append(truncate(f"{number}. {name}{rule_words(rule)}", SHOWN_RULE))
    return list(by_id.values())


def _listing_of(row: CostTag, first: int) -> ListedCostTag:
    return ListedCostTag(
        key=row.key,
        dimension=f"cost_tag:{row.key}",
        description=row.description,
        default_value=row.default_value,
        rules_count=len(row.rules),
        version=row.version,
        changed_at=row.changed_at,
        changed_by=row.changed_by,
        first_rule=first,
        rules=[],
    )


def _summary(account: Account, rows: Sequence[CostTag]) -> str:
    if not rows:
        return f"{quote(account.name)} has no cost tags."
    named = [
        f"{quote(row.key)} ({len(row.rules)} rule{'' if len(row.rules) == 1 else 's'})" for row in rows[:5]
    ]
    more = [f"{len(rows) - 5} more"] if len(rows) > 5 else []
    noun = "cost tag" if len(rows) == 1 else "cost tags"
    return (
        f"{quote(account.name)}: {noun} {join_with_and([*named, *more])}. The first matching rule "
        "sets the value."
    )


def _hint(rows: Sequence[CostTag]) -> str:
    if not rows:
        return "Members create cost tags on the Cost tags page."
    key = rows[0].key
    question = json.dumps({"cost_tag": key}, ensure_ascii=False)
    return f"Use queryCostTag {question} for its cost; querySpend accepts {quote(f'cost_tag:{key}')} too."


__all__ = [
    "MAX_LINES",
    "cost_tag_info",
    "cost_tag_keys",
    "cost_tags_answer",
    "effect",
    "list_cost_tags",
    "preview",
    "query_cost_tag",
]


def list_cost_tags(account: Account) -> list[CostTagInfo]:
    """Every cost tag, by key. One query."""
    return [cost_tag_info(row) for row in CostTag.objects.filter(account=account)]


def cost_tag_keys(account: Account) -> list[str]:
    """The keys of all cost tags, by name. One query."""
    return list(CostTag.objects.filter(account=account).values_list("key", flat=True))


def cost_tag_info(cost_tag: CostTag) -> CostTagInfo:
    return CostTagInfo(
        id=cost_tag.pk,
        key=cost_tag.key,
        description=cost_tag.description,
        default_value=cost_tag.default_value,
        rules=read_rules(cost_tag.rules),
        version=cost_tag.version,
        changed_at=cost_tag.changed_at,
        changed_by=cost_tag.changed_by,
    )
