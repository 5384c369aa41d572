"""The savings rules, their recommendations, and precedence between them, so that each bill line counts once. Pure."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import NamedTuple

import msgspec

from finops.costs.dated_names import strip_date_prefix
from finops.lib.money import exact_sum
from finops.lib.sentences import join_with_and


class SavingsRule(NamedTuple):
    """A rule with the effort and risk of its recommendations; `why`: the reason of the risk."""

    name: str
    label: str
    effort: str
    risk: str
    why: str


UNUSED = SavingsRule(
    "unused_commitment", "Unused commitments", "medium", "low",
    "Already paid for, used or not. Moving usage to it adds no cost.",
)  # fmt: skip
HUB = SavingsRule(
    "cost_optimization_hub", "AWS Cost Optimization Hub", "medium", "medium", "As stated by AWS."
)
ADVISOR = SavingsRule("azure_advisor", "Azure Advisor", "medium", "medium", "As stated by Azure.")
RECOMMENDER = SavingsRule(
    "google_recommender", "Google Recommender", "medium", "medium", "As stated by Google."
)
PROVIDERS: tuple[SavingsRule, ...] = (HUB, ADVISOR, RECOMMENDER)
"""Rules of the providers' own recommendations."""
WEEKENDS = SavingsRule(
    "weekends_off", "Dev and test running on weekends", "low", "low",
    "Tagged as dev or test; a schedule can stop and start it. Check for weekend work.",
)  # fmt: skip
GENERATIONS = SavingsRule(
    "previous_generation", "Previous-generation instances", "medium", "medium",
    "Requires a restart on other hardware. Test drivers, kernel and performance first.",
)  # fmt: skip
VOLUMES = SavingsRule(
    "volume_type", "Previous-generation volumes", "low", "low",
    "The type can change while the volume is in use. gp3 costs more above 3,000 IOPS or 125 MiB/s.",
)  # fmt: skip
GROWTH = SavingsRule(
    "growing_storage", "Growing storage", "medium", "medium",
    "Ask the owners what is still needed. Deletion cannot be undone.",
)  # fmt: skip
ON_DEMAND = SavingsRule(
    "steady_on_demand", "Savings plan for on-demand compute", "low", "medium",
    "A commitment is paid for a year, regardless of usage. Daily bills do not show hourly usage.",
)  # fmt: skip

PRECEDENCE: tuple[SavingsRule, ...] = (UNUSED, *PROVIDERS, WEEKENDS, GENERATIONS, VOLUMES, GROWTH, ON_DEMAND)
"""A line counts for the first of these rules that uses it."""

RULES: dict[str, SavingsRule] = {rule.name: rule for rule in PRECEDENCE}
PLACES = {rule.name: place for place, rule in enumerate(PRECEDENCE)}

WINDOW_DAYS = 30
"""Days of a month in all amounts here: the last thirty days that every source has delivered."""

MINIMUM = Decimal(1)
"""Savings below one unit of their currency per month are not listed."""

_WIDE = Context(prec=38, rounding=ROUND_HALF_EVEN)


def part(amount: Decimal, share: Decimal) -> Decimal:
    """Return amount * share with 38 digits."""
    return _WIDE.multiply(amount, share)


def names_of(resource: str) -> frozenset[str]:
    """Return the possible names of a resource in bills: its ARN, and the id at the end of the ARN."""
    if not resource.startswith("arn:"):
        return frozenset([resource] if resource else [])
    return frozenset([resource, resource.rsplit("/", 1)[-1].rsplit(":", 1)[-1]])


def label_of(names: Iterable[str], noun: str) -> str:
    """Return the label of a group of lines: their name, or `3 services` if there are several."""
    distinct = set(names) - {""}
    return distinct.pop() if len(distinct) == 1 else f"{len(distinct)} {noun}" if distinct else ""


def account_label(accounts: Iterable[tuple[str, str]]) -> str:
    """Return the same for accounts by id and dated name: a renamed account is one account, under its newest name."""
    named = [each for each in accounts if any(each)]
    ids = {account for account, _ in named}
    return strip_date_prefix(max(name for _, name in named)) if len(ids) == 1 else label_of(ids, "accounts")


@dataclass(frozen=True)
class LineKey:
    """Identifies bill lines by resource and usage type."""

    source: str
    currency: str
    account: str
    region: str
    usage_type: str
    resource: str


@dataclass(frozen=True)
class Piece:
    """Evidence: lines that add up to `cost` in the window. `saving` is None if the bills cannot prove it. `whole`:
    all lines of the resource, whatever their usage type; the amounts are then the provider's, not from the bill."""

    line: LineKey
    name: str
    cost: Decimal
    saving: Decimal | None
    note: str
    whole: bool = False


class SavingScope(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Scope of the cost that is compared after acting: resources, a commitment, or the on-demand compute of a source."""

    source: str
    currency: str
    resources: list[str] = []
    commitment: str = ""
    compute: bool = False


@dataclass(frozen=True)
class SavingCandidate:
    """A recommendation of one rule. `unit` distinguishes it from others of its rule in the source and currency.

    `reason`: why there is no saving. `service` and `account_name` describe all its lines, `3 services` if there are
    several; `services` are then their names.
    """

    rule: str
    unit: tuple[str, ...]
    title: str
    advice: str
    formula: str
    provider: str
    service: str
    account_name: str
    pieces: Sequence[Piece]
    reason: str = ""
    commitment: str = ""
    compute: bool = False
    services: frozenset[str] = frozenset()
    instead_of: frozenset[str] = frozenset()
    lowered: str = ""
    effort: str = ""
    risk: str = ""
    risk_reason: str = ""

    @property
    def source(self) -> str:
        return self.pieces[0].line.source

    @property
    def currency(self) -> str:
        return self.pieces[0].line.currency

    @property
    def bill(self) -> tuple[str, str]:
        """Source and currency."""
        return self.source, self.currency

    @property
    def key(self) -> str:
        """Stable id: the same for the same rule, source, scope and currency, whatever the amounts."""
        text = "\x1f".join([self.rule, self.source, self.currency, *self.unit])
        return f"sav_{hashlib.blake2s(text.encode(), digest_size=8).hexdigest()}"

    @property
    def cost(self) -> Decimal:
        return exact_sum(piece.cost for piece in self.pieces)

    @property
    def saving(self) -> Decimal | None:
        savings = [piece.saving for piece in self.pieces]
        if any(saving is None for saving in savings):
            return None
        return exact_sum(saving or Decimal(0) for saving in savings)

    @property
    def waste(self) -> Decimal | None:
        """Unused but paid cost, which only use, sale or exchange recovers; None for other rules."""
        return self.cost if self.rule == UNUSED.name else None

    @property
    def is_worth_listing(self) -> bool:
        return (self.cost if self.saving is None else self.saving) >= MINIMUM

    @property
    def scope(self) -> SavingScope:
        resources = {name for piece in self.pieces for name in names_of(piece.line.resource)}
        return SavingScope(
            source=self.source,
            currency=self.currency,
            resources=[] if self.commitment or self.compute else sorted(resources),
            commitment=self.commitment,
            compute=self.compute,
        )


def deduplicate_by_precedence(candidates: Iterable[SavingCandidate]) -> list[SavingCandidate]:
    """Assign each line to the first rule that uses it, and record which recommendations each one replaces.
    Recommendations without a proven saving come last: they add nothing to a total. Our rule, so that each bill line
    counts once."""
    ordered = sorted(candidates, key=lambda each: (each.saving is None, PLACES[each.rule], each.key))
    owner = _Owners()
    result: list[SavingCandidate] = []
    instead: dict[str, set[str]] = defaultdict(set)
    for each in ordered:
        owners = [(piece, owner.owner_of(piece)) for piece in each.pieces]
        free = [piece for piece, key in owners if key is None]
        owning_keys = {key for _, key in owners if key is not None}
        for key in owning_keys:
            instead[key].add(each.rule)
        if not free:
            continue
        listed = each
        if owning_keys:
            lowered = _lowered_text(len(each.pieces) - len(free), owning_keys, result)
            listed = replace(each, pieces=free, lowered=lowered)
        if listed.is_worth_listing:
            result.append(listed)
            owner.claim(free, listed.key)
    return [replace(each, instead_of=frozenset(instead[each.key])) for each in result]


class _Owners:
    """Assignment of lines to recommendations: by resource and usage type, or by whole resource."""

    def __init__(self) -> None:
        self._lines: dict[LineKey, str] = {}
        self._resources: dict[tuple[str, str], str] = {}
        self._wholes: dict[tuple[str, str], str] = {}

    def owner_of(self, piece: Piece) -> str | None:
        names = _resource_keys(piece)
        owners = self._resources if piece.whole else self._wholes
        return next((owners[name] for name in names if name in owners), self._lines.get(piece.line))

    def claim(self, pieces: Iterable[Piece], key: str) -> None:
        for piece in pieces:
            self._lines[piece.line] = key
            for name in _resource_keys(piece):
                self._resources.setdefault(name, key)
                if piece.whole:
                    self._wholes[name] = key


def _resource_keys(piece: Piece) -> list[tuple[str, str]]:
    return [(piece.line.source, name) for name in sorted(names_of(piece.line.resource))]


def _lowered_text(count: int, by: Collection[str], result: Iterable[SavingCandidate]) -> str:
    rules = sorted({RULES[each.rule].label for each in result if each.key in by})
    noun = "resource is" if count == 1 else "resources are"
    return f"{count} {noun} counted by {join_with_and(rules)} instead."
