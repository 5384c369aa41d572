"""What to suggest, from the sums: drafts with what of them to count. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from finops.allocation.rules import CostTagDraft, Rule
from finops.insights.tag_recommendations import words
from finops.insights.tag_recommendations.associations import TaggedCosts, associations
from finops.insights.tag_recommendations.drafts import (
    copied_keys,
    owner_of,
    start_of,
    targets_of,
    with_association,
    with_copy,
    with_merges,
)
from finops.insights.tag_recommendations.lake import KeyPair
from finops.insights.tag_recommendations.similarity import (
    MANY_VALUES,
    Amounts,
    KeyGroup,
    Merge,
    key_meaning,
    merges,
    sum_over_keys,
)
from finops.insights.tag_recommendations.tag_recommendations_query import Kind
from finops.lib.sentences import quote


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
    def title(self) -> str:
        return f"cost tag {quote(self.owner.key)}" if self.owner else f"tag {quote(self.group.keys[0])}"

    @property
    def key_pair(self) -> KeyPair | None:
        """What to ask of keys that only their values make one."""
        if not self.group.by_values:
            return None
        first = key_meaning(self.group.keys[0])
        ones = tuple(key for key in self.group.keys if key_meaning(key) == first)
        others = tuple(key for key in self.group.keys if key not in ones)
        copy = start_of(self.group, self.merged).rules[0].copy
        return KeyPair(ones, others, copy.map if copy else ())

    @property
    def is_categorical(self) -> bool:
        """Whether it has values, and not as many as names of things."""
        return 0 < len(self.values) <= MANY_VALUES


def subject_of(
    group: KeyGroup,
    drafts: Sequence[CostTagDraft],
    values: Mapping[str, Mapping[str, Amounts]],
    cost_tag_values: Mapping[str, Mapping[str, Amounts]],
    currencies: Sequence[str],
) -> Subject:
    """`values` by tag key, `given` by the key of a cost tag."""
    owner = owner_of(group, drafts)
    costs = cost_tag_values.get(owner.key, {}) if owner else sum_over_keys(group.keys, values)
    return Subject(group, owner, costs, tuple(merges(costs, currencies)))


def similarity_suggestions(subject: Subject) -> Iterator[Suggestion]:
    """Keys to collapse, values to put right."""
    group, owner = subject.group, subject.owner
    if owner is None:
        if len(group.keys) > 1:
            draft = start_of(group)
            yield _suggestion("same_keys", subject, draft, words.same_keys(group), rules=(1,))
    else:
        copied = copied_keys(owner, group.keys)
        missing = [key for key in group.keys if key not in copied]
        if missing:
            sentence = words.more_keys(missing, owner.key, [key for key in group.keys if key in copied])
            yield from _rule_suggestions("same_keys", subject, with_copy(owner, missing), sentence)
    if subject.merged:
        draft = with_merges(owner, subject.merged) if owner else subject.base
        sentence = words.same_values(subject.title, subject.merged)
        yield _suggestion("same_values", subject, draft, sentence, values=targets_of(owner, subject.merged))


def association_suggestions(
    subject: Subject, tagged_costs: Mapping[tuple[str, str], TaggedCosts], currencies: Sequence[str]
) -> Iterator[Suggestion]:
    """Rules for cost that has no value yet."""
    copied = copied_keys(subject.base, subject.group.keys)
    without = [key for key in subject.group.keys if key not in copied]
    for association in associations(tagged_costs, currencies):
        draft = with_association(subject.base, association, without)
        sentence = words.untagged_cost(subject.title, association)
        yield from _rule_suggestions(
            "untagged_cost", subject, draft, sentence, association.dimension, association.value
        )


def _rule_suggestions(
    kind: Kind, subject: Subject, draft: CostTagDraft, sentence: str, *distinct: str
) -> Iterator[Suggestion]:
    """Of the last rule; nothing where the cost tag has no room for one more."""
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
) -> Suggestion:
    before = subject.owner.rules if subject.owner else ()
    text = "\n".join([kind, subject.group.name, *distinct])
    return Suggestion(
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
