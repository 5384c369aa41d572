"""The inbox has a row a push in place of a row an event (docs/adr/0010); what waits is carried over.

In one transaction, so a push, flush or question meanwhile waits, then fails and stores nothing, until its process runs
the new code. About 100,000 waiting events a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import groupby, islice
from typing import Any

import msgspec
import psycopg
import pyarrow as pa
from django.db import migrations

before = import_module("finops.lake.migrations.0002_usage_inbox")
PARTITIONS = 16
ROW_EVENTS = 1_000

CREATE = """
ALTER TABLE lake_usageinbox RENAME TO lake_usageinbox_before;
CREATE TABLE lake_usageinbox (
    account_id bigint NOT NULL,
    source_id bigint NOT NULL,
    batch uuid NOT NULL,
    received_at timestamp with time zone NOT NULL,
    events integer NOT NULL,
    first_day date NOT NULL,
    last_day date NOT NULL,
    keys json,
    size integer,
    payload bytea NOT NULL
) PARTITION BY HASH (account_id);
-- It is compressed already.
ALTER TABLE lake_usageinbox ALTER payload SET STORAGE EXTERNAL;
"""
PARTITION = """
CREATE TABLE lake_usageinbox_of_{number} PARTITION OF lake_usageinbox
    FOR VALUES WITH (MODULUS {partitions}, REMAINDER {number})
    WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
          autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 10000,
          toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000);
"""
BEFORE = """
SELECT account_id, source_id, batch, received_at, event_time, customer_id, metric, unit, quantity, dimensions::text, position
FROM lake_usageinbox_before ORDER BY account_id, source_id, batch, received_at, position
"""
INSERT = """
INSERT INTO lake_usageinbox
       (account_id, source_id, batch, received_at, events, first_day, last_day, keys, size, payload)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %b)
"""
MOMENT = pa.timestamp("us", tz="UTC")


def carry_over(apps: Any, schema_editor: Any) -> None:
    connection: psycopg.Connection[Any] = schema_editor.connection.connection
    with psycopg.ServerCursor(connection, "waiting") as old, psycopg.Cursor(connection) as new:
        old.itersize = 10_000
        old.execute(BEFORE)
        for push, events in groupby(old, key=lambda row: row[:4]):
            while some := list(islice(events, ROW_EVENTS)):
                new.execute(INSERT, (*push, *_values(push, some)))


def _values(push: Sequence[Any], events: list[Any]) -> Iterator[Any]:
    _account, source, batch, received_at = push
    _, _, _, _, times, customers, metrics, units, quantities, dimensions, positions = zip(
        *events, strict=True
    )
    keys = sorted({key for text in dimensions if text for key in msgspec.json.decode(text)})
    columns = [
        pa.array(times, MOMENT),
        pa.repeat(str(source), len(events)),
        *(pa.array(texts, pa.string()) for texts in (customers, metrics, units)),
        pa.array(quantities, pa.decimal128(38, 12)),
        pa.repeat(pa.scalar(received_at, MOMENT), len(events)),
        pa.repeat(str(batch), len(events)),
        pa.array(positions, pa.int32()),
        pa.array(dimensions, pa.string()),
    ]
    message = pa.RecordBatch.from_arrays(columns, [str(number) for number in range(len(columns))]).serialize()
    days = columns[0].cast(pa.date32()).to_pylist()
    yield from (len(events), min(days), max(days), msgspec.json.encode(keys).decode() if keys else None)
    yield from (message.size, pa.compress(message, codec="lz4_raw", asbytes=True))


def refuse_to_lose(apps: Any, schema_editor: Any) -> None:
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT EXISTS (SELECT FROM lake_usageinbox)")
        if cursor.fetchone() == (True,):
            raise RuntimeError(
                "Events wait in the inbox. Stop pushes and flush them before this is taken back."
            )


class Migration(migrations.Migration):
    dependencies = [("lake", "0003_usage_flush_trouble")]

    operations = [
        migrations.RunSQL(
            [CREATE, *[PARTITION.format(number=n, partitions=PARTITIONS) for n in range(PARTITIONS)]],
            reverse_sql=["DROP TABLE lake_usageinbox", *before.Migration.operations[0].sql],
        ),
        migrations.RunPython(carry_over, refuse_to_lose),
        migrations.RunSQL("DROP TABLE lake_usageinbox_before", migrations.RunSQL.noop),
    ]
