"""The inbox of pushed usage: a row a push, in partitions by account (docs/adr/0010); a table without a model."""

from __future__ import annotations

from django.db import migrations

PARTITIONS = 16

INBOX = """
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


class Migration(migrations.Migration):
    dependencies = [("lake", "0001_initial")]

    operations = [
        migrations.RunSQL(
            [INBOX, *[PARTITION.format(number=n, partitions=PARTITIONS) for n in range(PARTITIONS)]],
            "DROP TABLE lake_usageinbox",
        )
    ]
