"""From what was found to draft rules: of the cost tag that a key has already, at its end; of a new one otherwise. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from finops.allocation.rules import AllOf, Condition, Copy, CostTagDraft, Rule, Test
from finops.allocation.rules.document import MAX_COPY_KEYS, MAX_RULES, MAX_VALUES
from finops.costs.spend_query import Op
from finops.insights.tag_recommendations.associations import Association
from finops.insights.tag_recommendations.similarity import PREFIXES, KeyGroup, Merge, key_meaning
from finops.lib.sentences import truncate

NAME_LENGTH = 60


def owner_of(group: KeyGroup, drafts: Sequence[CostTagDraft]) -> CostTagDraft | None:
    """The cost tag that is about these keys: by its key's meaning, else by the tags that it copies."""
    meanings = {key_meaning(key) for key in group.keys}
    for draft in drafts:
        if key_meaning(draft.key) in meanings:
            return draft
    shared = {draft.key: len(copied_keys(draft, group.keys)) for draft in drafts}
    best = max(drafts, key=lambda draft: shared[draft.key], default=None)
    return best if best is not None and shared[best.key] else None


def copied_keys(draft: CostTagDraft, keys: Sequence[str]) -> set[str]:
    """Those of the keys that some rule copies; a key in another case is meant where no key is written so."""
    named = {key for rule in draft.rules if rule.copy for key in rule.copy.keys}
    folded = {key.casefold() for key in named - set(keys)}
    return {key for key in keys if key in named or (key.casefold() in folded)}


def start_of(group: KeyGroup, merged: Iterable[Merge] = ()) -> CostTagDraft:
    """A new cost tag that copies the keys in order, trimmed and in small letters, spellings put right."""
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
    """What becomes what once values are trimmed and in small letters."""
    renames: dict[str, str] = {}
    for merge in merged:
        folded = [each.strip().lower() for each in merge.spellings]
        renames |= {other: merge.target.lower() for other in folded if other != merge.target.lower()}
    return renames


def targets_of(draft: CostTagDraft | None, merged: Iterable[Merge]) -> tuple[str, ...]:
    """The values that the spellings become."""
    return tuple(merge.target if draft else merge.target.lower() for merge in merged)


def with_copy(draft: CostTagDraft, keys: Sequence[str]) -> CostTagDraft:
    """Another rule at the end that copies the keys, made alike and renamed as its last copying rule does."""
    last = next((rule.copy for rule in reversed(draft.rules) if rule.copy), None)
    steps = last.normalise if last else ("trim", "lower")
    copy = Copy(keys=tuple(keys[:MAX_COPY_KEYS]), normalise=steps, map=last.map if last else ())
    return _append_rule(draft, Rule(copy=copy))


def with_merges(draft: CostTagDraft, merged: Iterable[Merge]) -> CostTagDraft:
    """The rules of a cost tag, giving the first spelling wherever they give another of them."""
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
    """Another rule at the end for cost that no rule has caught and none of the keys is on."""
    op: Op = "starts_with" if association.dimension == "resource" else "in"
    test = Test(dimension=association.dimension, op=op, values=association.names[:MAX_VALUES])
    absent = [Test(dimension=f"tag:{key}", op="absent") for key in without]
    when: Condition = AllOf((test, *absent)) if absent else test
    return _append_rule(draft, Rule(when=when, value=association.value))


def _append_rule(draft: CostTagDraft, rule: Rule) -> CostTagDraft:
    if len(draft.rules) >= MAX_RULES:
        return draft
    return replace(draft, rules=(*draft.rules, rule))
