"""The query about tag recommendations (the tool `listTagRecommendations`), and the parts of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from finops.lib.answers import AccountAnswer

Kind = Literal["same_keys", "same_values", "untagged_cost"]

KINDS: dict[Kind, str] = {
    "same_keys": "Same key",
    "same_values": "Same value",
    "untagged_cost": "Untagged cost",
}
"""What a person calls them."""

MAX_LIMIT = 40


class TagRecommendationsQuery(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    kinds: Annotated[list[Kind], Meta(description="Empty: all.")] = []
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT)] = 20


# `share`: of the cost of this currency; None where there is none.
class TagCover(msgspec.Struct, frozen=True, kw_only=True):
    amount: Decimal
    currency: str
    share: Decimal | None


def share_of(covers: Sequence[TagCover]) -> Decimal | None:
    """Of the currency where it covers most of the cost."""
    return max((each.share for each in covers if each.share is not None), default=None)


# `covers`: what saving would give a value by these rules (same_values: what would have the values put right), in the
# account's cost view. `rules`: those that are new or changed, in words.
class TagRecommendation(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    sentence: str
    tag_keys: list[str]
    covers: list[TagCover]
    cost_tag: str
    is_new: bool
    rules: list[str]
    console_url: str = ""

    @property
    def share(self) -> Decimal:
        return share_of(self.covers) or Decimal(0)


# `covers`: amortized usage cost of lines that have the key.
class KeyCoverage(msgspec.Struct, frozen=True, kw_only=True):
    key: str
    covers: list[TagCover]


class TagRecommendationsAnswer(AccountAnswer, frozen=True, kw_only=True):
    start_date: date
    end_date: date
    recommendations: list[TagRecommendation]
    keys: list[KeyCoverage]
    truncated: str
    warnings: list[str]
    hint: str
    console_url: str = ""
