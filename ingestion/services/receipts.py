"""What a push is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self
from uuid import UUID

import msgspec

from ingestion.parsing import Rejection


class Result(msgspec.Struct):
    """The ingestion result: every event is in one of the two counts, every rejected one among the errors."""

    accepted: int
    rejected: int
    errors: Sequence[Rejection]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The answer to a push: a Result as JSON, and what does not belong to the interface's body, as headers."""

    body: bytes
    headers: dict[str, str]

    @classmethod
    def of(
        cls,
        *,
        batch: UUID | None,
        accepted: int,
        duplicates: int,
        rejected: Sequence[Rejection],
        rounded: int,
    ) -> Self:
        """`accepted` includes the duplicates, `rounded` counts among it. Without a batch nothing was stored."""
        headers = {
            "Usage-Rejected": str(len(rejected)),
            "Usage-Duplicates": str(duplicates),
            "Usage-Rounded": str(rounded),
        }
        if batch is not None:
            headers["Usage-Batch-Id"] = str(batch)
        return cls(msgspec.json.encode(Result(accepted, len(rejected), rejected)), headers)
