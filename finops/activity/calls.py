"""Records of calls of the MCP endpoint, without secrets, and the one statement that stores and counts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from accounts.credentials import Credential
from finops.activity.buckets import bucket_of
from finops.activity.models import CallMethod, CallOutcome
from finops.lib import prepared_statements
from finops.lib.redaction import without_secrets

MAX_ARGUMENT_BYTES = 4_000
"""The most bytes of arguments that are stored."""

MAX_PAGE = 2_000

_MARGIN = 2_000  # so that a secret across the edge is still recognised
_encode = msgspec.json.Encoder(decimal_format="number").encode


class CallRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A call's data when its answer is ready. At most 10 kB, which limits the memory of unsaved records."""

    account_id: int
    at: datetime
    method: CallMethod
    name: str
    arguments: bytes
    credential_kind: str
    credential_id: int
    credential_label: str
    person_id: int | None
    milliseconds: float
    answer_bytes: int
    outcome: CallOutcome
    problem: str
    console_page: str


def call_record(
    *,
    credential: Credential,
    at: datetime,
    method: CallMethod,
    name: str,
    arguments: Mapping[str, Any] | object,
    milliseconds: float,
    answer_bytes: int,
    outcome: CallOutcome,
    problem: str = "",
    console_page: str = "",
) -> CallRecord:
    """Return the record of a call, cut to size. Cost: microseconds, since it is made before the answer is sent."""
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


# Calls of an account that is gone meanwhile fall out by the join. Rows of counts are taken in one order, so that two
# processes never wait for each other. A crash may cost the last second, so the commit waits for no disk.
_STORE = """
WITH async_commit AS (SELECT set_config('synchronous_commit', 'off', true)),
given AS MATERIALIZED (
  SELECT g.* FROM async_commit, unnest(
    %s::bigint[], %s::timestamptz[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::text[],
    %s::bigint[], %s::float8[], %s::int[], %s::text[], %s::text[], %s::text[], %s::smallint[]
  ) WITH ORDINALITY
    AS g(account_id, at, method, name, arguments, credential_kind, credential_id, credential_label,
         person_id, milliseconds, answer_bytes, outcome, problem, console_page, bucket, place)
  JOIN accounts_account a ON a.id = g.account_id
),
stored AS (
  INSERT INTO activity_assistantcall
    (account_id, at, method, name, arguments, credential_kind, credential_id, credential_label,
     person_id, milliseconds, answer_bytes, outcome, problem, console_page)
  SELECT account_id, at, method, name, arguments, credential_kind, credential_id, credential_label,
         person_id, milliseconds, answer_bytes, outcome, problem, console_page
    FROM given ORDER BY at, place
)
INSERT INTO activity_assistantcallcount AS counted
  (account_id, day, method, name, credential_kind, credential_id, outcome, bucket,
   credential_label, person_id, calls, answer_bytes)
SELECT account_id, (at AT TIME ZONE 'UTC')::date, method, name, credential_kind, credential_id, outcome, bucket,
       max(credential_label), max(person_id), count(*), sum(answer_bytes)
  FROM given GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ORDER BY 1, 2, 3, 4, 5, 6, 7, 8
ON CONFLICT (account_id, day, method, name, credential_kind, credential_id, outcome, bucket) DO UPDATE
   SET calls = counted.calls + excluded.calls, answer_bytes = counted.answer_bytes + excluded.answer_bytes,
       credential_label = excluded.credential_label
"""


def store(calls: Sequence[CallRecord]) -> None:
    """Store and count the calls, all or none, without secrets. One statement."""
    rows = [_row(call) for call in calls]
    prepared_statements.execute(_STORE, [list(column) for column in zip(*rows, strict=True)])


def _row(call: CallRecord) -> tuple[object, ...]:
    return (
        call.account_id,
        call.at,
        call.method.value,
        without_secrets(_storable(call.name))[:64],
        without_secrets(call.arguments.decode(errors="ignore"))
        .encode()[:MAX_ARGUMENT_BYTES]
        .decode(errors="ignore"),
        call.credential_kind,
        call.credential_id,
        _storable(call.credential_label)[:300],  # ours: a key in it is masked
        call.person_id,
        call.milliseconds,
        call.answer_bytes,
        call.outcome.value,
        without_secrets(_storable(call.problem))[:300],
        without_secrets(_storable(call.console_page)),
        bucket_of(call.milliseconds),
    )


def _storable(text: str) -> str:
    """Return text that PostgreSQL accepts: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "").encode(errors="replace").decode()
