"""Which tag keys, and which values of one, mean the same, and what says the value of cost that has none. Pure.

A key's meaning is its letters and digits in small letters, without the prefix of a provider, in the singular, a few
well-known short forms written out; keys whose values are mostly the same mean the same too. A value's meaning is
likewise, but keeps what stands between two digits: 1.2 is not 12.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from finops.allocation.rules.document import MAX_VALUE_LENGTH
from finops.lib.answers import group_by
from finops.lib.money import exact_sum

Amounts = Mapping[str, Decimal]
"""By currency."""

PREFIXES = ("user:", "aws:", "azure:", "gcp:", "goog-", "tag:", "label:", "labels/")

KEY_WORDS = {
    **dict.fromkeys(("env", "environ", "environment", "envname", "environmentname"), "environment"),
    **dict.fromkeys(("app", "application", "appname", "applicationname"), "application"),
    **dict.fromkeys(("svc", "service", "servicename"), "service"),
    **dict.fromkeys(("cc", "costcenter", "costcentre"), "costcenter"),
    **dict.fromkeys(("team", "teamname"), "team"),
    **dict.fromkeys(("proj", "project", "projectname"), "project"),
    **dict.fromkeys(("dept", "department"), "department"),
    **dict.fromkeys(("bu", "businessunit"), "businessunit"),
    **dict.fromkeys(("cust", "customer", "customername"), "customer"),
}

VALUE_WORDS = {
    **dict.fromkeys(("prod", "prd", "production"), "production"),
    **dict.fromkeys(("preprod", "preprd", "preproduction"), "preproduction"),
    **dict.fromkeys(("nonprod", "nonprd", "nonproduction"), "nonproduction"),
    **dict.fromkeys(("dev", "develop", "development"), "development"),
    **dict.fromkeys(("stg", "stage", "staging"), "staging"),
    **dict.fromkeys(("test", "tst", "testing"), "testing"),
    **dict.fromkeys(("sandbox", "sbx"), "sandbox"),
}

UNINFORMATIVE_VALUES = {
    *("true", "false", "yes", "no", "on", "off", "enabled"),
    *("none", "null", "na", "unknown", "default", "other"),
}
"""Values that keys of any meaning have in common."""

MANY_VALUES = 200
"""A key with more is a name or a number of things, whose values are not compared."""

COMMON_VALUES = 2
COMMON_SHARE = Decimal("0.8")
"""Keys mean the same when at least so many values, with so much of the cost of either, are in both."""


def key_meaning(key: str) -> str:
    folded = key.strip().casefold()
    prefix = next((each for each in PREFIXES if folded.startswith(each)), "")
    bare = re.sub(r"[\W_]+", "", folded.removeprefix(prefix)) or folded
    return KEY_WORDS.get(bare) or KEY_WORDS.get(_singular(bare)) or _singular(bare)


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def value_meaning(value: str) -> str:
    """Empty when nothing but spaces and signs."""
    joined = re.sub(r"(?<!\d)[\W_]+|[\W_]+(?!\d)", "", value.casefold())
    bare = re.sub(r"[\W_]+", "-", joined)
    return VALUE_WORDS.get(bare, bare)


@dataclass(frozen=True)
class KeyGroup:
    """Keys that mean the same, that with most cost first. `by_values`: their names alone do not say so."""

    keys: tuple[str, ...]
    by_values: bool = False

    @property
    def name(self) -> str:
        """What stays the same when another becomes the costliest."""
        return min(key_meaning(key) for key in self.keys)


def key_groups(keys: Sequence[str], values: Mapping[str, Mapping[str, Amounts]]) -> list[KeyGroup]:
    """The keys by meaning, in their order. `values`: the cost of the values of the keys that are compared."""
    keys_by_meaning = group_by(keys, key_meaning)
    names: list[list[str]] = []
    for name in keys_by_meaning:
        like = next((each for each in names if _same_values(keys_by_meaning, each[0], name, values)), None)
        names.append([name]) if like is None else like.append(name)
    return [
        KeyGroup(tuple(key for key in keys if key_meaning(key) in each), by_values=len(each) > 1)
        for each in names
    ]


def _same_values(
    keys_by_meaning: Mapping[str, Sequence[str]],
    one: str,
    other: str,
    values: Mapping[str, Mapping[str, Amounts]],
) -> bool:
    first, second = (by_meaning(sum_over_keys(keys_by_meaning[name], values)) for name in (one, other))
    if not 0 < len(first) <= MANY_VALUES or not 0 < len(second) <= MANY_VALUES:
        return False
    common = {meaning for meaning in first.keys() & second.keys() if _is_distinctive(meaning)}
    return len(common) >= COMMON_VALUES and _is_majority(common, first) and _is_majority(common, second)


def _is_distinctive(meaning: str) -> bool:
    return meaning not in UNINFORMATIVE_VALUES and not meaning.isdigit() and len(meaning) > 1


def _is_majority(common: set[str], amounts: Mapping[str, Amounts]) -> bool:
    """In every currency that has cost."""
    whole = total_of(amounts.values())
    part = total_of(amounts[meaning] for meaning in common)
    return any(whole.values()) and all(
        part.get(currency, Decimal(0)) >= COMMON_SHARE * amount for currency, amount in whole.items()
    )


def sum_over_keys(keys: Sequence[str], values: Mapping[str, Mapping[str, Amounts]]) -> dict[str, Amounts]:
    """The cost of the values of several keys, added up."""
    by_value: dict[str, list[Amounts]] = {}
    for key in keys:
        for value, amounts in values.get(key, {}).items():
            by_value.setdefault(value, []).append(amounts)
    return {value: total_of(each) for value, each in by_value.items()}


def by_meaning(values: Mapping[str, Amounts]) -> dict[str, Amounts]:
    costs: dict[str, list[Amounts]] = {}
    for value, amounts in values.items():
        if meaning := value_meaning(value):
            costs.setdefault(meaning, []).append(amounts)
    return {meaning: total_of(each) for meaning, each in costs.items()}


def total_of(amounts: Iterable[Amounts]) -> dict[str, Decimal]:
    """By currency, exactly."""
    by_currency: dict[str, list[Decimal]] = {}
    for each in amounts:
        for currency, amount in each.items():
            by_currency.setdefault(currency, []).append(amount)
    return {currency: exact_sum(parts) for currency, parts in by_currency.items()}


@dataclass(frozen=True)
class Merge:
    """Spellings of one value, that with most cost first."""

    spellings: tuple[str, ...]

    @property
    def target(self) -> str:
        """What all of them become."""
        return self.spellings[0].strip()


def merges(values: Mapping[str, Amounts], currencies: Sequence[str]) -> list[Merge]:
    """The values that are spelt in several ways, most cost first. `currencies`: the largest first."""
    if len(values) > MANY_VALUES:
        return []
    groups: dict[str, list[str]] = {}
    for value in sorted(values, key=lambda each: (rank(values[each], currencies), each)):
        if len(value) <= MAX_VALUE_LENGTH and (meaning := value_meaning(value)):
            groups.setdefault(meaning, []).append(value)
    return [Merge(tuple(spellings)) for spellings in groups.values() if len(spellings) > 1]


def rank(amounts: Amounts, currencies: Sequence[str]) -> tuple[Decimal, ...]:
    """To sort by: the most of the first currency first, then of the next."""
    return tuple(amounts.get(currency, Decimal(0)).copy_negate() for currency in currencies)


KEY_PAIR, AGREE, DIFFER = "together", "agree", "differ"
"""A dimension and its names: what lines with both of two keys say."""

CERTAIN = Decimal("0.95")
"""Of the cost with a value, so much has the same one, in every currency."""

EVIDENCE = Decimal("0.25")
"""At least so much of the cost has a value, in every currency."""


DISAGREEING = Decimal("0.1")
"""Of the cost of lines with both of two keys: where more differs, they mean something else, in any currency."""


@dataclass
class TaggedCosts:
    """The cost of one account, service or name: with each value, and without."""

    values: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    without: dict[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Association:
    """Cost without a value at `names` of the dimension is taken for `value`, that with most cost without first."""

    dimension: str
    value: str
    names: tuple[str, ...]


def associations(
    tagged_costs: Mapping[tuple[str, str], TaggedCosts], currencies: Sequence[str]
) -> list[Association]:
    """By dimension and value. `beside` by (dimension, name)."""
    names_by_value: dict[tuple[str, str], list[str]] = {}
    keys = [each for each in tagged_costs if each[0] != KEY_PAIR]
    for dimension, name in sorted(
        keys, key=lambda each: (rank(tagged_costs[each].without, currencies), each)
    ):
        value = certain_value(tagged_costs[dimension, name])
        if value is not None:
            names_by_value.setdefault((dimension, value), []).append(name)
    return [
        Association(dimension, value, tuple(names)) for (dimension, value), names in names_by_value.items()
    ]


def is_contradictory(tagged_costs: Mapping[tuple[str, str], TaggedCosts]) -> bool:
    """Whether keys that were taken for one, by their values, mostly say something else where a line has both."""
    agree, differ = (tagged_costs.get((KEY_PAIR, side), TaggedCosts()).without for side in (AGREE, DIFFER))
    return any(amount > DISAGREEING * total_of([agree, differ])[each] for each, amount in differ.items())


def certain_value(tagged_costs: TaggedCosts) -> str | None:
    """The value that what has none surely lacks; None when nothing lacks one, or the rest does not agree.

    An association rule with a least support (EVIDENCE) and a least confidence (CERTAIN), of cost in place of
    counts (Agrawal and others, Mining association rules, 1993).
    """
    if not any(amount > 0 for amount in tagged_costs.without.values()):
        return None
    tagged = total_of(tagged_costs.values.values())
    whole = total_of([tagged, tagged_costs.without])
    if not all(tagged.get(each, Decimal(0)) >= EVIDENCE * amount for each, amount in whole.items()):
        return None
    for value, amounts in tagged_costs.values.items():
        if len(value) <= MAX_VALUE_LENGTH and _is_certain(amounts, tagged):
            return value
    return None


def _is_certain(amounts: Amounts, tagged: Amounts) -> bool:
    return any(amount > 0 for amount in tagged.values()) and all(
        amounts.get(currency, Decimal(0)) >= CERTAIN * amount for currency, amount in tagged.items()
    )


Row = tuple[str, str, str | None, str, Decimal]
"""Dimension, name, value, currency, cost."""


def read_tagged_costs(rows: Iterable[Row]) -> dict[tuple[str, str], TaggedCosts]:
    result: dict[tuple[str, str], TaggedCosts] = {}
    for dimension, name, value, currency, cost in rows:
        each = result.setdefault((dimension, name), TaggedCosts())
        side = each.without if value is None else each.values.setdefault(value, {})
        side[currency] = exact_sum([side.get(currency, Decimal(0)), cost])
    return result
