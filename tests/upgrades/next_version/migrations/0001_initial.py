from django.db import migrations


class Migration(migrations.Migration):
    """As docs/upgrading.md asks of each: additive, and nothing waits for it longer than for a lock."""

    initial = True
    atomic = False
    dependencies = [("lake", "0001_initial"), ("ingestion", "0001_initial")]

    operations = [
        migrations.RunSQL("ALTER TABLE lake_lakesegment ADD COLUMN next_note text"),
        migrations.RunSQL("ALTER TABLE ingestion_usagebatch ADD COLUMN next_note text"),
        migrations.RunSQL("CREATE INDEX CONCURRENTLY next_note_of_batch ON ingestion_usagebatch (next_note)"),
    ]
