"""Event ids say which batch brought them, so that those of a voided batch can be forgotten and sent again."""

from __future__ import annotations

from django.db import migrations

ADD = """
DELETE FROM ingestion_usageeventid;
ALTER TABLE ingestion_usageeventid ADD COLUMN batch uuid NOT NULL;
"""


class Migration(migrations.Migration):
    dependencies = [("ingestion", "0003_event_ids")]

    operations = [migrations.RunSQL(ADD, reverse_sql="ALTER TABLE ingestion_usageeventid DROP COLUMN batch")]
