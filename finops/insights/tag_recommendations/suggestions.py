"""Suggestions with their drafts: rules appended to the cost tag of a key, or to a new one. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from finops.allocation.rules import AllOf, Condition, Copy, CostTagDraft, Rule, Test
from finops.allocation.rules.document import MAX_COPY_KEYS, MAX_RULES, MAX_VALUES
from finops.costs.spend_query import Op
from finops.insights.tag_recommendations.lake import KeyPair
from finops.insights.tag_recommendations.schemas import Kind
from finops.insights.tag_recommendations.similarity import (
    MANY_VALUES,
    PREFIXES,
    Amounts,
    Association,
    KeyGroup,
    Merge,
    TaggedCosts,
    associations,
    key_meaning,
    merges,
    sum_over_keys,
)
from finops.lib.sentences import dimension_text, join_first, quote, truncate

SHOWN, LENGTH = 4, 60
"""Number of names in a sentence, and characters of each."""


def owner_of(group: KeyGroup, drafts: Sequence[CostTagDraft]) -> CostTagDraft | None:
    """Return the cost tag of these keys: by its key's meaning, else by the tags that it copies."""
    meanings = {key_meaning(key) for key in group.keys}
    for draft in drafts:
        if key_meaning(draft.key) in meanings:
            return draft
    shared = {draft.key: len(copied_keys(draft, group.keys)) for draft in drafts}
    best = max(drafts, key=lambda draft: shared[draft.key], default=None)
    return best if best is not None and shared[best.key] else None


def copied_keys(draft: CostTagDraft, keys: Sequence[str]) -> set[str]:
    """Return the keys that a rule copies; a key matches in another case if no key is spelled exactly so."""
    named = {key for rule in draft.rules if rule.copy for key in rule.copy.keys}
    folded = {key.casefold() for key in named - set(keys)}
    return {key for key in keys if key in named or (key.casefold() in folded)}


def start_of(group: KeyGroup, merged: Iterable[Merge] = ()) -> CostTagDraft:
    """Return a new cost tag that copies the keys in order, trimmed and in lower case, with corrected spellings."""
    folded = group.keys[0].strip()
    prefix = next((each for each in PREFIXES if folded.casefold().startswith(each)), "")
    key = re.sub(r"[^\w:.-]+", "-", folded[len(prefix) :]).strip("-").lower() or group.name
    copy = Copy(
        keys=group.keys[:MAX_COPY_KEYS],
        normalise=("trim", "lower"),
        map=tuple(_renames(merged).items())[:MAX_VALUES],
    )
    return CostTagDraft(key=truncate(key, 100), rules=(Rule(copy=copy),))


def _renames(merged: Iterable[Merge]) -> dict[str, str]:
    """Return the renames that remain once values are trimmed and in lower case."""
    renames: dict[str, str] = {}
    for merge in merged:
        folded = [each.strip().lower() for each in merge.spellings]
        renames |= {other: merge.target.lower() for other in folded if other != merge.target.lower()}
    return renames


def targets_of(draft: CostTagDraft | None, merged: Iterable[Merge]) -> tuple[str, ...]:
    """Return the values that replace the spellings."""
    return tuple(merge.target if draft else merge.target.lower() for merge in merged)


def with_copy(draft: CostTagDraft, keys: Sequence[str]) -> CostTagDraft:
    """Append a rule that copies the keys, normalized and renamed as the last copying rule does."""
    last = next((rule.copy for rule in reversed(draft.rules) if rule.copy), None)
    steps = last.normalise if last else ("trim", "lower")
    copy = Copy(keys=tuple(keys[:MAX_COPY_KEYS]), normalise=steps, map=last.map if last else ())
    return _append_rule(draft, Rule(copy=copy))


def with_merges(draft: CostTagDraft, merged: Iterable[Merge]) -> CostTagDraft:
    """Return the rules of a cost tag with the first spelling in place of the others."""
    renames = {old: merge.target for merge in merged for old in merge.spellings if old != merge.target}
    return replace(draft, rules=tuple(_rename_values(rule, renames) for rule in draft.rules))


def _rename_values(rule: Rule, renames: Mapping[str, str]) -> Rule:
    if rule.copy is None:
        return replace(rule, value=renames.get(rule.value, rule.value))
    pairs = {old.lower(): (old, renames.get(new, new)) for old, new in rule.copy.map}
    for old, new in renames.items():
        pairs.setdefault(old.lower(), (old, new))
    return replace(rule, copy=replace(rule.copy, map=tuple(pairs.values())[:MAX_VALUES]))


def with_association(draft: CostTagDraft, association: Association, without: Sequence[str]) -> CostTagDraft:
    """Append a rule for cost that no rule matches and that has none of the keys."""
    op: Op = "starts_with" if association.dimension == "resource" else "in"
    test = Test(dimension=association.dimension, op=op, values=association.names[:MAX_VALUES])
    absent = [Test(dimension=f"tag:{key}", op="absent") for key in without]
    when: Condition = AllOf((test, *absent)) if absent else test
    return _append_rule(draft, Rule(when=when, value=association.value))


def _append_rule(draft: CostTagDraft, rule: Rule) -> CostTagDraft:
    if len(draft.rules) >= MAX_RULES:
        return draft
    return replace(draft, rules=(*draft.rules, rule))


@dataclass(frozen=True)
class TagSuggestion:
    """A draft, and the part of it that the suggestion covers: some rules, or some values."""

    id: str
    kind: Kind
    sentence: str
    keys: tuple[str, ...]
    draft: CostTagDraft
    is_new: bool
    rules: tuple[int, ...] = ()
    values: tuple[str, ...] = ()
    shown: tuple[Rule, ...] = ()


@dataclass(frozen=True)
class Subject:
    """Keys with the same meaning, their cost tag, and the cost of their values: those that the cost tag gives, or
    those of the keys together."""

    group: KeyGroup
    owner: CostTagDraft | None
    values: Mapping[str, Amounts] = field(default_factory=dict)
    merged: tuple[Merge, ...] = ()

    @property
    def base(self) -> CostTagDraft:
        """The cost tag that rules are added to."""
        return self.owner or start_of(self.group, self.merged)

    @property
    def title(self) -> str:
        return f"cost tag {quote(self.owner.key)}" if self.owner else f"tag {quote(self.group.keys[0])}"

    @property
    def key_pair(self) -> KeyPair | None:
        """The pair to compare if only their values group the keys."""
        if not self.group.by_values:
            return None
        first = key_meaning(self.group.keys[0])
        first_keys = tuple(key for key in self.group.keys if key_meaning(key) == first)
        second_keys = tuple(key for key in self.group.keys if key not in first_keys)
        copy = start_of(self.group, self.merged).rules[0].copy
        return KeyPair(first_keys, second_keys, copy.map if copy else ())

    @property
    def is_categorical(self) -> bool:
        """Whether it has values, but fewer than a key of names."""
        return 0 < len(self.values) <= MANY_VALUES


def subject_of(
    group: KeyGroup,
    drafts: Sequence[CostTagDraft],
    values: Mapping[str, Mapping[str, Amounts]],
    cost_tag_values: Mapping[str, Mapping[str, Amounts]],
    currencies: Sequence[str],
) -> Subject:
    """Return a subject. `values` by tag key, `cost_tag_values` by the key of a cost tag."""
    owner = owner_of(group, drafts)
    costs = cost_tag_values.get(owner.key, {}) if owner else sum_over_keys(group.keys, values)
    return Subject(group, owner, costs, tuple(merges(costs, currencies)))


def similarity_suggestions(subject: Subject) -> Iterator[TagSuggestion]:
    """Return suggestions to combine keys and to correct values."""
    group, owner = subject.group, subject.owner
    if owner is None:
        if len(group.keys) > 1:
            draft = start_of(group)
            yield _suggestion("same_keys", subject, draft, _same_keys_text(group), rules=(1,))
    else:
        copied = copied_keys(owner, group.keys)
        missing = [key for key in group.keys if key not in copied]
        if missing:
            sentence = _more_keys_text(missing, owner.key, [key for key in group.keys if key in copied])
            yield from _rule_suggestions("same_keys", subject, with_copy(owner, missing), sentence)
    if subject.merged:
        draft = with_merges(owner, subject.merged) if owner else subject.base
        sentence = _same_values_text(subject.title, subject.merged)
        yield _suggestion("same_values", subject, draft, sentence, values=targets_of(owner, subject.merged))


def association_suggestions(
    subject: Subject, tagged_costs: Mapping[tuple[str, str], TaggedCosts], currencies: Sequence[str]
) -> Iterator[TagSuggestion]:
    """Return suggestions of rules for untagged cost."""
    copied = copied_keys(subject.base, subject.group.keys)
    without = [key for key in subject.group.keys if key not in copied]
    for association in associations(tagged_costs, currencies):
        draft = with_association(subject.base, association, without)
        sentence = _untagged_cost_text(subject.title, association)
        yield from _rule_suggestions(
            "untagged_cost", subject, draft, sentence, association.dimension, association.value
        )


def _rule_suggestions(
    kind: Kind, subject: Subject, draft: CostTagDraft, sentence: str, *distinct: str
) -> Iterator[TagSuggestion]:
    """Return the suggestions of the last rule; none if the cost tag has the maximum of rules."""
    if len(draft.rules) > len(subject.base.rules):
        yield _suggestion(kind, subject, draft, sentence, *distinct, rules=(len(draft.rules),))


def _suggestion(
    kind: Kind,
    subject: Subject,
    draft: CostTagDraft,
    sentence: str,
    *distinct: str,
    rules: tuple[int, ...] = (),
    values: tuple[str, ...] = (),
) -> TagSuggestion:
    before = subject.owner.rules if subject.owner else ()
    text = "\n".join([kind, subject.group.name, *distinct])
    return TagSuggestion(
        id=f"{kind.replace('_', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:12]}",
        kind=kind,
        sentence=sentence,
        keys=subject.group.keys,
        draft=draft,
        is_new=subject.owner is None,
        rules=rules,
        values=values,
        shown=tuple(rule for rule in draft.rules if rule not in before),
    )


def _names_text(names: Sequence[str], shown: int = SHOWN) -> str:
    """Return `'a', 'b' and 3 more`."""
    return join_first([quote(name, LENGTH) for name in names], shown)


def _same_keys_text(group: KeyGroup) -> str:
    why = ", by the values that they have in common" if group.by_values else ""
    return f"Tags {_names_text(group.keys)} mean the same{why}. One cost tag can combine them."


def _more_keys_text(missing: Sequence[str], cost_tag: str, copies: Sequence[str]) -> str:
    noun, verb = ("Tag", "means") if len(missing) == 1 else ("Tags", "mean")
    if not copies:
        return (
            f"{noun} {_names_text(missing)} {verb} the same as cost tag {quote(cost_tag)}, which "
            "does not include it yet."
        )
    return (
        f"{noun} {_names_text(missing)} {verb} the same as {_names_text(copies)}, which cost tag "
        f"{quote(cost_tag)} already includes."
    )


def _same_values_text(named: str, merged: Sequence[Merge]) -> str:
    spellings = [_names_text(merge.spellings) for merge in merged[:SHOWN]]
    more = f"; {len(merged) - SHOWN} more" if len(merged) > SHOWN else ""
    noun = "One value" if len(merged) == 1 else f"{len(merged)} values"
    verb = "is" if len(merged) == 1 else "are"
    return f"{noun} of {named} {verb} spelled in several ways: {'; '.join(spellings)}{more}."


def _untagged_cost_text(named: str, association: Association) -> str:
    names, value = _names_text(association.names), quote(association.value, LENGTH)
    plural = "" if len(association.names) == 1 else "s"
    if association.dimension == "resource":
        place = f"Resource name or ID begins with {names.replace(' and ', ' or ')}"
    else:
        place = f"In {dimension_text(association.dimension)}{plural} {names}"
    return (
        f"{place}: at least 95% of the cost with {named} is {value}, so cost without it is likely "
        f"{value} too."
    )
