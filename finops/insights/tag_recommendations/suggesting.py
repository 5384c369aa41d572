"""What to suggest, from the sums: drafts with what of them to count. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from finops.allocation.rules import CostTagDraft, Rule
from finops.insights.tag_recommendations import words
from finops.insights.tag_recommendations.alike import (
    MANY_VALUES,
    Amounts,
    KeyGroup,
    Merge,
    key_meaning,
    merges,
    pooled,
)
from finops.insights.tag_recommendations.associations import Beside, associations
from finops.insights.tag_recommendations.drafts import (
    copied_keys,
    owner_of,
    start_of,
    targets_of,
    with_association,
    with_copy,
    with_merges,
)
from finops.insights.tag_recommendations.lake import Together
from finops.insights.tag_recommendations.question import Kind
from finops.lib.spoken import quoted


@dataclass(frozen=True)
class Suggestion:
    """A draft, and which part of it is what the suggestion covers: some rules, or some values."""

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
    """Keys that mean the same, the cost tag that they have, and what their values are worth: those that the cost tag
    gives, or those of the keys together."""

    group: KeyGroup
    owner: CostTagDraft | None
    values: Mapping[str, Amounts] = field(default_factory=dict)
    merged: tuple[Merge, ...] = ()

    @property
    def base(self) -> CostTagDraft:
        """What rules are added to."""
        return self.owner or start_of(self.group, self.merged)

    @property
    def named(self) -> str:
        return f"cost tag {quoted(self.owner.key)}" if self.owner else f"tag {quoted(self.group.keys[0])}"

    @property
    def together(self) -> Together | None:
        """What to ask of keys that only their values make one."""
        if not self.group.by_values:
            return None
        first = key_meaning(self.group.keys[0])
        ones = tuple(key for key in self.group.keys if key_meaning(key) == first)
        others = tuple(key for key in self.group.keys if key not in ones)
        copy = start_of(self.group, self.merged).rules[0].copy
        return Together(ones, others, copy.map if copy else ())

    @property
    def is_categorical(self) -> bool:
        """Whether it has values, and not as many as names of things."""
        return 0 < len(self.values) <= MANY_VALUES


def subject_of(
    group: KeyGroup,
    drafts: Sequence[CostTagDraft],
    values: Mapping[str, Mapping[str, Amounts]],
    given: Mapping[str, Mapping[str, Amounts]],
    currencies: Sequence[str],
) -> Subject:
    """`values` by tag key, `given` by the key of a cost tag."""
    owner = owner_of(group, drafts)
    found = given.get(owner.key, {}) if owner else pooled(group.keys, values)
    return Subject(group, owner, found, tuple(merges(found, currencies)))


def alike_suggestions(subject: Subject) -> Iterator[Suggestion]:
    """Keys to collapse, values to put right."""
    group, owner = subject.group, subject.owner
    if owner is None:
        if len(group.keys) > 1:
            draft = start_of(group)
            yield _made("same_keys", subject, draft, words.same_keys(group), rules=(1,))
    else:
        copied = copied_keys(owner, group.keys)
        missing = [key for key in group.keys if key not in copied]
        if missing:
            said = words.more_keys(missing, owner.key, [key for key in group.keys if key in copied])
            yield from _added("same_keys", subject, with_copy(owner, missing), said)
    if subject.merged:
        draft = with_merges(owner, subject.merged) if owner else subject.base
        said = words.same_values(subject.named, subject.merged)
        yield _made("same_values", subject, draft, said, values=targets_of(owner, subject.merged))


def association_suggestions(
    subject: Subject, beside: Mapping[tuple[str, str], Beside], currencies: Sequence[str]
) -> Iterator[Suggestion]:
    """Rules for cost that has no value yet."""
    copied = copied_keys(subject.base, subject.group.keys)
    without = [key for key in subject.group.keys if key not in copied]
    for found in associations(beside, currencies):
        draft = with_association(subject.base, found, without)
        said = words.untagged_cost(subject.named, found)
        yield from _added("untagged_cost", subject, draft, said, found.dimension, found.value)


def _added(
    kind: Kind, subject: Subject, draft: CostTagDraft, said: str, *distinct: str
) -> Iterator[Suggestion]:
    """Of the last rule; nothing where the cost tag has no room for one more."""
    if len(draft.rules) > len(subject.base.rules):
        yield _made(kind, subject, draft, said, *distinct, rules=(len(draft.rules),))


def _made(
    kind: Kind,
    subject: Subject,
    draft: CostTagDraft,
    said: str,
    *distinct: str,
    rules: tuple[int, ...] = (),
    values: tuple[str, ...] = (),
) -> Suggestion:
    before = subject.owner.rules if subject.owner else ()
    text = "\n".join([kind, subject.group.name, *distinct])
    return Suggestion(
        id=f"{kind.replace('_', '-')}-{hashlib.sha256(text.encode()).hexdigest()[:12]}",
        kind=kind,
        sentence=said,
        keys=subject.group.keys,
        draft=draft,
        is_new=subject.owner is None,
        rules=rules,
        values=values,
        shown=tuple(rule for rule in draft.rules if rule not in before),
    )
