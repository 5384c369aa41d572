"""Cost under other spellings of a tag's key and value, beside an answer about tags, and what cost tags and teams make
of it.

A filter `tag:env in production` matches neither `tag:Environment = production` nor `tag:env = prod`; each is cost
that the query may have meant. The same applies to lines without a tag, without a team and with a cost tag's default
value, three ways to ask for unallocated cost. All amounts come from one lake query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from finops.allocation.cost_tags.resolution import PREFIX as COST_TAG
from finops.allocation.cost_tags.resolution import resolution_state
from finops.allocation.team_dimension import values_by_team
from finops.costs.dimensions import Dimension, registry
from finops.costs.filters import ResolvedFilter
from finops.costs.queries.spend_facts import SpendNoteContext, SpendNotes
from finops.costs.queries.spend_lake import SpendSum
from finops.insights.spellings_lake import (
    OtherKeys,
    OtherSpellings,
    Part,
    SameValue,
    SpellingsBuild,
    WithoutValue,
    default_of,
    meanings_of,
)
from finops.insights.tag_recommendations.similarity import Amounts, key_meaning, total_of, value_meaning
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lib.errors import UserError
from finops.lib.money import currencies_by_amount, exact_difference
from finops.lib.sentences import join_with_and, money, truncate

TAG = "tag:"
TEAM = "team"

WORTH_SAYING = Decimal("0.1")
"""Share of the answer from which cost under other spellings is reported in its first sentence."""

MOST_KEYS = 10
MOST_COVERS = 3
MOST_ABSENT = 5
MOST_COST_TAGS = 50
"""Maximum number of cost tags that are compared."""

NAMED = 5
NAMED_IN_SUMMARY = 2
LENGTH = 60

SPELT = {
    "in": "=",
    "not_in": "not",
    "contains": "containing",
    "starts_with": "beginning with",
    "ends_with": "ending with",
}
"""Operators whose values may have other spellings."""

TOO_LATE = "Similar tag spellings were not checked: time limit reached. Use fewer days."


@dataclass(frozen=True)
class Topic:
    """Subject of a part of the lake query: `name` in the answer, the keys by index, and the name for covers."""

    part: Part
    subject: str
    names: tuple[str, ...] = ()


Sums = dict[tuple[int, str], dict[str, Decimal]]
"""Amounts by currency, by index and value."""


def other_spellings(question: SpendNoteContext) -> SpendNotes:
    """Return notes on other spellings; empty if no tag, cost tag or team is used. One lake query, and at most three
    of PostgreSQL."""
    same = _same_rows(question)
    topics = _topics(question)
    if not topics:
        return SpendNotes(warnings=tuple(same))
    try:
        sums = _ask(question, topics)
    except engine.LakeTimeout:
        return SpendNotes(warnings=(*same, TOO_LATE))
    clauses, warnings = [], same
    for topic, sums_of_topic in zip(topics, sums, strict=True):
        if sums_of_topic:
            clause, warning = _topic_text(topic, sums_of_topic, question.amounts)
            if question.as_lines:
                clause = f"{clause} ({question.as_lines})" if clause else ""
                warning = f"{warning.removesuffix('.')} ({question.as_lines})."
            clauses.append(clause)
            warnings.append(warning)
    return SpendNotes("".join(clauses), tuple(warnings))


def _topics(question: SpendNoteContext) -> list[Topic]:
    plan = question.plan
    topics: list[Topic] = []
    for item in plan.filters:
        if item.dimension.name.startswith(TAG):
            topics += _filter_topics(question, item)
    for dimension in plan.dimensions:
        if dimension.name.startswith(TAG):
            topics += _group_topics(question, dimension)
    return topics + _absent_value_topics(question)


def _filter_topics(question: SpendNoteContext, item: ResolvedFilter) -> list[Topic]:
    (key,) = item.dimension.tag_keys
    other_keys = _keys_like(question, key)
    filters = tuple(each for each in question.plan.filters if each is not item)
    missing: list[Topic] = []
    if other_keys and _wants_absent(item):
        missing = [Topic(OtherKeys(filters, key, other_keys), item.dimension.name, other_keys)]
    values = [value for value in item.values if value.strip().lower() != item.dimension.absent]
    meanings = meanings_of(values)
    if item.op not in SPELT or not meanings or not (other_keys or item.is_exact):
        return missing
    keys = (key, *other_keys)
    shown = f"{item.dimension.name} {SPELT[item.op]} {truncate(' or '.join(values), LENGTH)}"
    spellings = Topic(OtherSpellings(filters, item, keys, meanings), shown, keys)
    if item.op != "in":
        return [*missing, spellings]
    covers = [
        Topic(SameValue(filters, dimension, meanings), shown, (_dimension_text(dimension),))
        for dimension in _cost_tags(question, keys)[:MOST_COVERS]
    ]
    return [*missing, spellings, *covers, *_team(question, item, filters, shown)]


def _team(
    question: SpendNoteContext, item: ResolvedFilter, filters: tuple[ResolvedFilter, ...], shown: str
) -> list[Topic]:
    """Return the teams that own the value, if the team key reads a tag with the same meaning."""
    team = _resolve_or_none(question, TEAM)
    (key,) = item.dimension.tag_keys
    if team is None or key_meaning(key) not in {key_meaning(each) for each in team.tag_keys}:
        return []
    meanings = set(meanings_of(item.values))
    teams = tuple(
        name
        for name, values in values_by_team(team)
        if meanings & {value_meaning(text) for text in (name, *values)}
    )
    return [Topic(SameValue(filters, team, names=teams), shown, (TEAM,))] if teams else []


def _group_topics(question: SpendNoteContext, dimension: Dimension) -> list[Topic]:
    (key,) = dimension.tag_keys
    other_keys = _keys_like(question, key)
    if not other_keys:
        return []
    return [Topic(OtherKeys(question.plan.filters, key, other_keys), dimension.name, other_keys)]


def _absent_value_topics(question: SpendNoteContext) -> list[Topic]:
    """Return, for a query about lines without a value, the other ways to ask for unallocated cost."""
    plan = question.plan
    for item in plan.filters:
        if _is_owner(item.dimension) and _wants_absent(item):
            filters = tuple(each for each in plan.filters if each is not item)
            return _missing_value_topics(question, item.dimension, filters)
    for place, dimension in enumerate(plan.dimensions):
        nothing = {dimension.absent, default_of(dimension) or dimension.absent}
        if _is_owner(dimension) and any(part.keys[place] in nothing for part in question.sums):
            return _missing_value_topics(question, dimension, plan.filters, related=True)
    return []


def _missing_value_topics(
    question: SpendNoteContext,
    dimension: Dimension,
    filters: tuple[ResolvedFilter, ...],
    *,
    related: bool = False,
) -> list[Topic]:
    """Return the topics of lines without a value. `related`: only cost tags over these tags, because the rules of
    each take lake time."""
    keys = list(dimension.tag_keys)
    if dimension.name.startswith(COST_TAG):
        keys += _keys_with_meaning(question, dimension.name.removeprefix(COST_TAG))
    tags = [_resolve_or_none(question, f"{TAG}{key}") for key in keys[:MOST_COVERS]]
    # Those that read the same tags first; any other cost tag says whose cost it is as well.
    cost_tags = _cost_tags(question, keys)
    if not related:
        cost_tags += _cost_tags(question, keys, related=False)
    candidates = [each for each in (*tags, _resolve_or_none(question, TEAM), *cost_tags) if each is not None]
    dimensions = {each.name: each for each in candidates if each.name != dimension.name}
    return [
        Topic(WithoutValue(filters, each), f"{dimension.name} = {dimension.absent}", (_dimension_text(each),))
        for each in list(dimensions.values())[:MOST_ABSENT]
    ]


def _same_rows(question: SpendNoteContext) -> list[str]:
    """Return listed values of one tag with the same meaning, with their total cost."""
    plan = question.plan
    if len(plan.dimensions) != 1 or not plan.dimensions[0].name.startswith(TAG):
        return []
    rows: dict[str, dict[str, list[SpendSum]]] = {}
    for part in question.sums:
        value = part.keys[0]
        counted = plan.counts(part.charge_category)
        if value and counted and value != plan.dimensions[0].absent and (meaning := value_meaning(value)):
            rows.setdefault(meaning, {}).setdefault(value, []).append(part)
    sentences = []
    for values in rows.values():
        if len(values) > 1:
            total = total_of({part.currency: part.amount} for parts in values.values() for part in parts)
            names = join_with_and([truncate(value, LENGTH) for value in sorted(values)[:NAMED]])
            sentences.append(
                f"{plan.dimensions[0].name} {names} may mean the same: together {_amounts(total)}."
            )
    return sentences[:NAMED]


def _is_owner(dimension: Dimension) -> bool:
    return dimension.name == TEAM or dimension.name.startswith((TAG, COST_TAG))


def _wants_absent(item: ResolvedFilter) -> bool:
    default = default_of(item.dimension).casefold()
    by_default = bool(default) and default in {value.strip().casefold() for value in item.values}
    return item.op == "absent" or (item.op == "in" and (item.wants_absent or by_default))


def _keys_like(question: SpendNoteContext, key: str) -> tuple[str, ...]:
    return tuple(each for each in _keys_with_meaning(question, key) if each != key)


def _keys_with_meaning(question: SpendNoteContext, key: str) -> list[str]:
    meaning = key_meaning(key)
    return [each for each in question.context.tag_keys if key_meaning(each) == meaning][:MOST_KEYS]


def _cost_tags(question: SpendNoteContext, keys: Sequence[str], *, related: bool = True) -> list[Dimension]:
    """Return the cost tags with the meaning of one of the keys, then those that read one; if not related: all others."""
    meanings = {key_meaning(key) for key in keys}
    same, reading, unrelated = [], [], []
    for draft in list(resolution_state(question.context).drafts.values())[:MOST_COST_TAGS]:
        dimension = _resolve_or_none(question, f"{COST_TAG}{draft.key}")
        if dimension is None:
            continue
        if key_meaning(draft.key) in meanings:
            same.append(dimension)
        elif set(dimension.tag_keys) & set(keys):
            reading.append(dimension)
        else:
            unrelated.append(dimension)
    return same + reading if related else unrelated


def _resolve_or_none(question: SpendNoteContext, name: str) -> Dimension | None:
    """Return the dimension; None if it cannot be evaluated: circular cost tags, a team without a team key."""
    try:
        dimension = registry.resolve(question.context, name)
    except UserError:
        return None
    return None if name == TEAM and not values_by_team(dimension) else dimension


def _dimension_text(dimension: Dimension) -> str:
    return dimension.name.replace(COST_TAG, "cost tag ", 1)


def _ask(question: SpendNoteContext, topics: Sequence[Topic]) -> list[Sums]:
    plan = question.plan
    parts = tuple(topic.part for topic in topics)
    table = engine.run(
        question.account,
        Kind.COST,
        plan.days.start,
        plan.days.end,
        SpellingsBuild(parts, plan.basis, plan.categories),
        tag_keys=_columns(question, parts),
        allow_rollups=True,
        manifest=question.context.manifest,
        deadline=question.deadline,
    )
    results: list[Sums] = [{} for _ in topics]
    for row in table.to_pylist():
        if row["amount"]:
            amounts = results[row["part"]].setdefault((row["place"], row["value"] or ""), {})
            amounts[row["currency"]] = row["amount"]
    return results


def _columns(question: SpendNoteContext, parts: Iterable[Part]) -> list[str]:
    keys = list(question.plan.tag_keys)
    for part in parts:
        if isinstance(part, OtherSpellings):
            keys += part.keys
        elif isinstance(part, OtherKeys):
            keys += [part.key, *part.keys]
        else:
            keys += part.dimension.tag_keys
    return list(dict.fromkeys(keys))


def _topic_text(topic: Topic, sums: Sums, answer: Amounts) -> tuple[str, str]:
    """Return a clause for the answer's first sentence, empty if the share is small, and a warning."""
    part, total = topic.part, total_of(sums.values())
    named = [f"{_value_text(topic, *key)} {_amounts(each)}" for key, each in _rank_by_amount(sums)]
    few, names = _names_text(named, NAMED_IN_SUMMARY), _names_text(named, NAMED)
    if isinstance(part, OtherSpellings):
        keeps = part.missed_by.op == "not_in"
        where, verb = ("still in it", "keeps") if keeps else ("not in it", "leaves out")
        clause = f"; {where}: {_amounts(total)} under other spellings ({few})"
        warning = f"{topic.subject} {verb} {_amounts(total)} under other spellings: {names}."
    elif isinstance(part, OtherKeys):
        clause = f"; {_amounts(total)} without {topic.subject} has it under other keys ({few})"
        warning = f"{_amounts(total)} without {topic.subject} has keys that mean the same: {names}."
    else:
        total = {
            currency: exact_difference(amount, answer.get(currency, Decimal(0)))
            for currency, amount in total.items()
        }
        clause = f"; {few}" if isinstance(part, SameValue) else ""
        warning = f"Beside {topic.subject}: {names}."
    return clause if _is_worth_saying(total, answer) else "", warning


def _value_text(topic: Topic, place: int, value: str) -> str:
    part = topic.part
    if isinstance(part, OtherKeys):
        return f"{TAG}{truncate(topic.names[place], LENGTH)}"
    if isinstance(part, OtherSpellings):
        return f"{TAG}{truncate(topic.names[place], LENGTH)} = {truncate(value, LENGTH)}"
    absent = part.dimension.absent if isinstance(part, WithoutValue) else ""
    return f"{topic.names[0]} = {truncate(value or absent, LENGTH)}"


def _is_worth_saying(amounts: Amounts, answer: Amounts) -> bool:
    return any(
        amount.copy_abs() > WORTH_SAYING * answer.get(currency, Decimal(0)).copy_abs()
        for currency, amount in amounts.items()
    )


def _rank_by_amount(sums: Sums) -> list[tuple[tuple[int, str], dict[str, Decimal]]]:
    return sorted(
        sums.items(), key=lambda item: (-max(amount.copy_abs() for amount in item[1].values()), item[0])
    )


def _amounts(amounts: Mapping[str, Decimal]) -> str:
    return join_with_and([money(amounts[currency], currency) for currency in currencies_by_amount(amounts)])


def _names_text(named: Sequence[str], count: int) -> str:
    more = f" and {len(named) - count} more" if len(named) > count else ""
    return f"{', '.join(named[:count])}{more}"
