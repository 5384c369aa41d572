"""Finds tag keys and values with the same meaning, and the likely value of untagged cost. Pure.

The meaning of a key is its letters and digits in lower case, without a provider's prefix, in the singular, with a few
common abbreviations expanded; keys with mostly the same values have the same meaning too. The meaning of a value is
alike, but keeps separators between two digits: 1.2 is not 12.
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
"""Amounts by currency."""

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
"""Values that keys of any meaning share."""

MANY_VALUES = 200
"""Number of values from which a key is a name or an id, whose values are not compared."""

COMMON_VALUES = 2
COMMON_SHARE = Decimal("0.8")
"""Keys mean the same if both have at least this number of common values with this share of the cost of each."""


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
    """Return the meaning of a value; empty if it has only spaces and punctuation."""
    joined = re.sub(r"(?<!\d)[\W_]+|[\W_]+(?!\d)", "", value.casefold())
    bare = re.sub(r"[\W_]+", "-", joined)
    return VALUE_WORDS.get(bare, bare)


@dataclass(frozen=True)
class KeyGroup:
    """Keys with the same meaning, the one with most cost first. `by_values`: their names alone do not show it."""

    keys: tuple[str, ...]
    by_values: bool = False

    @property
    def name(self) -> str:
        """A name that does not change when another key becomes the costliest."""
        return min(key_meaning(key) for key in self.keys)


def key_groups(keys: Sequence[str], values: Mapping[str, Mapping[str, Amounts]]) -> list[KeyGroup]:
    """Return the keys by meaning, in their order. `values`: cost of the values of the compared keys."""
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
    """Return whether a part is the majority in every currency with cost."""
    whole = total_of(amounts.values())
    part = total_of(amounts[meaning] for meaning in common)
    return any(whole.values()) and all(
        part.get(currency, Decimal(0)) >= COMMON_SHARE * amount for currency, amount in whole.items()
    )


def sum_over_keys(keys: Sequence[str], values: Mapping[str, Mapping[str, Amounts]]) -> dict[str, Amounts]:
    """Return the cost of the values of several keys, added up."""
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
    """Return the exact sum by currency."""
    by_currency: dict[str, list[Decimal]] = {}
    for each in amounts:
        for currency, amount in each.items():
            by_currency.setdefault(currency, []).append(amount)
    return {currency: exact_sum(parts) for currency, parts in by_currency.items()}


@dataclass(frozen=True)
class Merge:
    """Spellings of one value, the one with most cost first."""

    spellings: tuple[str, ...]

    @property
    def target(self) -> str:
        """The spelling that replaces the others."""
        return self.spellings[0].strip()


def merges(values: Mapping[str, Amounts], currencies: Sequence[str]) -> list[Merge]:
    """Return values with several spellings, most cost first. `currencies`: the largest first."""
    if len(values) > MANY_VALUES:
        return []
    groups: dict[str, list[str]] = {}
    for value in sorted(values, key=lambda each: (rank(values[each], currencies), each)):
        if len(value) <= MAX_VALUE_LENGTH and (meaning := value_meaning(value)):
            groups.setdefault(meaning, []).append(value)
    return [Merge(tuple(spellings)) for spellings in groups.values() if len(spellings) > 1]


def rank(amounts: Amounts, currencies: Sequence[str]) -> tuple[Decimal, ...]:
    """Return a sort key: the largest amount in the first currency first, then in the next."""
    return tuple(amounts.get(currency, Decimal(0)).copy_negate() for currency in currencies)


KEY_PAIR, AGREE, DIFFER = "together", "agree", "differ"
"""A dimension and its values: whether two keys agree on lines that have both."""

CERTAIN = Decimal("0.95")
"""Minimum share of the cost with a value that has the same value, in every currency."""

EVIDENCE = Decimal("0.25")
"""Minimum share of the cost that has a value, in every currency."""


DISAGREEING = Decimal("0.1")
"""Share of the cost of lines with both of two keys above which differing values show different meanings, in any
currency."""


@dataclass
class TaggedCosts:
    """Cost of one account, service or name: with each value, and without."""

    values: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    without: dict[str, Decimal] = field(default_factory=dict)


@dataclass(frozen=True)
class Association:
    """Cost without a value at `names` of the dimension is likely `value`; names with most untagged cost first."""

    dimension: str
    value: str
    names: tuple[str, ...]


def associations(
    tagged_costs: Mapping[tuple[str, str], TaggedCosts], currencies: Sequence[str]
) -> list[Association]:
    """Return associations by dimension and value. `tagged_costs` are by (dimension, name)."""
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
    """Return whether keys that were grouped by their values mostly differ on lines that have both."""
    agree, differ = (tagged_costs.get((KEY_PAIR, side), TaggedCosts()).without for side in (AGREE, DIFFER))
    return any(amount > DISAGREEING * total_of([agree, differ])[each] for each, amount in differ.items())


def certain_value(tagged_costs: TaggedCosts) -> str | None:
    """Return the likely value of cost without a value; None if all cost has one, or the rest does not agree.

    An association rule with a minimum support (EVIDENCE) and a minimum confidence (CERTAIN), by cost instead of
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
