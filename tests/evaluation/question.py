"""A question: what a person asks, the call that answers it, and the right answer from the raw files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from finops.receipts import records
from tests.evaluation.readers import Answer
from tests.evaluation.truth import PLACES, Figures, RawFiles
from tests.mcpserver.mcp_client import McpClient

Read = Callable[[Answer], Figures]
Truth = Callable[[RawFiles], Figures]


@dataclass(frozen=True)
class Question:
    """`is_part`: the answer may have fewer figures than there are, the largest among them. `receipt_of`: the arguments of the
    answer of querySpend whose receipt is an argument."""

    text: str
    tool: str
    arguments: Mapping[str, Any]
    truth: Truth
    read: Read
    is_part: bool = False
    receipt_of: Mapping[str, Any] | None = None

    def call_arguments(self, mcp_client: McpClient) -> Mapping[str, Any]:
        """The arguments of the right call, after the call of which they need the receipt."""
        if self.receipt_of is None:
            return self.arguments
        records.forget()  # what a test before stored was rolled back
        receipt = mcp_client.ask("querySpend", **self.receipt_of)["receipt"]
        assert records.recorder.flush()
        return {**self.arguments, "receipt": receipt}

    def is_right(self, figures: Figures, truth: Figures) -> bool:
        rounded = {key: amount.quantize(PLACES) for key, amount in truth.items()}
        expected = {key: amount for key, amount in rounded.items() if amount}
        nonzero = {key: amount for key, amount in figures.items() if amount}
        if not self.is_part:
            return nonzero == expected
        largest = max(expected, key=lambda key: expected[key], default=None)
        return nonzero.items() <= expected.items() and (largest is None or largest in nonzero)
