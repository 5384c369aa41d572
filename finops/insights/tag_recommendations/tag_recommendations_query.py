"""What is asked about tag recommendations: the arguments of the tool `listTagRecommendations`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Kind = Literal["same_keys", "same_values", "untagged_cost"]
KindName = Literal["all", "same_keys", "same_values", "untagged_cost"]

KINDS: dict[Kind, str] = {
    "same_keys": "Same key",
    "same_values": "Same value",
    "untagged_cost": "Untagged cost",
}
"""What a person calls them."""

MAX_LIMIT = 40


class TagRecommendationsQuery(msgspec.Struct, frozen=True, kw_only=True):
    __doc__ = None
    kind: KindName = "all"
    limit: Annotated[int, Meta(ge=1, le=MAX_LIMIT)] = 20
