"""The event ids of the last 35 days: two hashes and a day, about 100 bytes a row with its index."""

from __future__ import annotations

from django.db import migrations

CREATE = """
CREATE TABLE ingestion_usageeventid (
    account_id bigint NOT NULL,
    digest uuid NOT NULL,
    content uuid NOT NULL,
    received_on date NOT NULL,
    PRIMARY KEY (account_id, digest)
)
"""


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0002_ledger")]

    operations = [migrations.RunSQL(CREATE, reverse_sql="DROP TABLE ingestion_usageeventid")]
