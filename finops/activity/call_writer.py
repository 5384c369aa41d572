"""The one statement that stores calls and counts them."""

from __future__ import annotations

from collections.abc import Sequence

from finops.activity.buckets import bucket_of
from finops.activity.calls import MAX_ARGUMENT_BYTES, CallRecord
from finops.activity.redaction import without_secrets
from finops.lib import prepared_statements

# Calls of an account that is gone meanwhile fall out by the join. Rows of counts are taken in one order, so that two
# processes never wait for each other. A crash may cost the last second, so the commit waits for no disk.
_STORE = """
WITH loose AS (SELECT set_config('synchronous_commit', 'off', true)),
given AS MATERIALIZED (
  SELECT g.* FROM loose, unnest(
    %s::bigint[], %s::timestamptz[], %s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::text[],
    %s::bigint[], %s::float8[], %s::int[], %s::text[], %s::text[], %s::text[], %s::smallint[]
  ) AS g(account_id, at, method, name, arguments, credential_kind, credential_id, credential_label,
         person_id, milliseconds, answer_bytes, outcome, problem, console_page, bucket)
  JOIN accounts_account a ON a.id = g.account_id
),
stored AS (
  INSERT INTO activity_assistantcall
    (account_id, at, method, name, arguments, credential_kind, credential_id, credential_label,
     person_id, milliseconds, answer_bytes, outcome, problem, console_page)
  SELECT account_id, at, method, name, arguments, credential_kind, credential_id, credential_label,
         person_id, milliseconds, answer_bytes, outcome, problem, console_page
    FROM given ORDER BY at
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
    """Store and count them, all or none, without secrets. One statement."""
    rows = [_row(call) for call in calls]
    prepared_statements.execute(_STORE, [list(column) for column in zip(*rows, strict=True)])


def _row(call: CallRecord) -> tuple[object, ...]:
    return (
        call.account_id,
        call.at,
        call.method.value,
        without_secrets(_storable(call.name))[:64],
        _cut(without_secrets(call.arguments.decode(errors="ignore"))),
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
    """What PostgreSQL takes: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "").encode(errors="replace").decode()


def _cut(arguments: str) -> str:
    return arguments.encode()[:MAX_ARGUMENT_BYTES].decode(errors="ignore")
