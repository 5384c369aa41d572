from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ingestion", "0016_keys_of_sources"),
    ]

    operations = [
        migrations.AddField(
            model_name="usagebatch",
            name="ignored_fields",
            field=models.JSONField(
                blank=True,
                help_text="Fields of its events that are not stored, with their number.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="usagebatch",
            name="unlikely_times",
            field=models.IntegerField(
                db_default=0,
                default=0,
                help_text="Events before 2000 or more than a day after their receipt.",
            ),
        ),
        migrations.AddField(
            model_name="usagesource",
            name="event_id_field",
            field=models.CharField(
                blank=True,
                db_default="",
                help_text="Field of events whose value is their event_id.",
                max_length=100,
            ),
        ),
        migrations.AddIndex(
            model_name="usagebatch",
            index=models.Index(
                condition=models.Q(
                    ("unlikely_times__gt", 0), ("ignored_fields__isnull", False), _connector="OR"
                ),
                fields=["source", "-received_at"],
                name="usage_batch_with_remarks",
            ),
        ),
    ]
