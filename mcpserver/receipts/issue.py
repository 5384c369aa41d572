"""The receipt of an answer: issued with the answer, stored shortly afterwards (ADR 0080)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from finops.exchange_rates.display import OWN, Display
from finops.lake.engine.answer_inputs import AnswerInputs
from finops.lake.engine.shared_results import engine_version
from finops.lib.redaction import without_secrets
from finops.receipts import codes, records
from finops.receipts.records import MAX_ARGUMENT_BYTES, ReceiptRecord
from mcpserver.context import ToolCall
from mcpserver.registry import DISPLAY_CURRENCY, Tool

_encode = msgspec.json.Encoder(order="deterministic").encode


def receipt_of(
    tool: Tool,
    arguments: Mapping[str, Any],
    display: Display | None,
    call: ToolCall,
    inputs: AnswerInputs,
    answer: msgspec.Struct,
) -> ReceiptIssuer | None:
    """The receipt of an answer, to be issued with its figures. None if the answer cannot be computed
    again: the bills changed during the computation, or its arguments are too long or contain a secret, which is never
    stored."""
    encoded = _encode({**arguments, **currency_argument(tool, display)})
    text = encoded.decode()
    has_secret = without_secrets(text) != text
    if len(inputs.manifests) != 1 or len(encoded) > MAX_ARGUMENT_BYTES or has_secret:
        return None
    (manifest,) = inputs.manifests.values()
    return ReceiptIssuer(
        lambda figures: ReceiptRecord(
            account_id=call.account.pk,
            at=inputs.at,
            name=tool.name,
            arguments=encoded,
            cost_access=cost_access_digest(call),
            manifest=manifest,
            source_state=inputs.source_state,
            expressions=inputs.expressions,
            rates=inputs.rates,
            engine=engine_version(),
            days=inputs.days,
            has_usage=inputs.has_usage,
            answer=figures,
            summary=str(getattr(answer, "summary", "")),
        )
    )


class ReceiptIssuer:
    """The receipt of one answer. A call with the answer's figures issues it, stores it and returns its code for display."""

    __slots__ = ("_record_of", "code")

    def __init__(self, record_of: Callable[[bytes], ReceiptRecord]) -> None:
        self._record_of = record_of
        self.code = ""
        """The code as it is stored; empty until the receipt is issued."""

    def __call__(self, figures: bytes) -> str:
        record = self._record_of(figures)
        self.code = record.code()
        records.note(record, self.code)
        return codes.shown(self.code)


def currency_argument(tool: Tool, display: Display | None) -> dict[str, str]:
    """The argument for the currency of the answer, independent of the currency that the account chooses later."""
    if not tool.converts:
        return {}
    return {DISPLAY_CURRENCY: display.currency if display else OWN}


def cost_access_digest(call: ToolCall) -> str:
    """A digest of the call's cost access limits and their filters; empty for the whole account."""
    if not call.cost_access_limits:
        return ""
    limits = sorted((limit.pk, limit.alternatives) for limit in call.cost_access_limits)
    return hashlib.sha256(_encode(limits)).hexdigest()[:32]


__all__ = ["ReceiptIssuer", "cost_access_digest", "currency_argument", "receipt_of"]
