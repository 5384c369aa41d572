"""A call as the door notes it, on its way to the store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from accounts.credentials import Credential
from finops.activity.models import Method, Outcome

MAX_ARGUMENT_BYTES = 4_000
"""Bytes of arguments that are stored."""

_MARGIN = 2_000  # so that a secret across the edge is still recognised
_encode = msgspec.json.Encoder(decimal_format="number").encode


class CallRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What is known when the answer is ready. At most 10 kB: what waits to be written has bounded size."""

    account_id: int
    at: datetime
    method: Method
    name: str
    arguments: bytes
    credential_kind: str
    credential_id: int
    credential_label: str
    person_id: int | None
    milliseconds: float
    answer_bytes: int
    outcome: Outcome
    problem: str
    console_page: str


def call_record(
    *,
    credential: Credential,
    at: datetime,
    method: Method,
    name: str,
    arguments: Mapping[str, Any] | object,
    milliseconds: float,
    answer_bytes: int,
    outcome: Outcome,
    problem: str = "",
    console_page: str = "",
) -> CallRecord:
    """The note of a call, cut to size. Cost: microseconds, since it is made before the answer is sent."""
    person = credential.actor.user
    return CallRecord(
        account_id=credential.account.pk,
        at=at,
        method=method,
        name=name[:64],
        arguments=_encode(arguments)[: MAX_ARGUMENT_BYTES + _MARGIN],
        credential_kind=credential.kind.value,
        credential_id=credential.id,
        credential_label=credential.label,
        person_id=person.pk if person is not None else None,
        milliseconds=milliseconds,
        answer_bytes=answer_bytes,
        outcome=outcome,
        problem=problem.partition("\n")[0][:600],
        console_page=console_page if len(console_page) <= MAX_PAGE else "",
    )


MAX_PAGE = 2_000
