from __future__ import annotations

from django.db import migrations, models

import finops.lib.clock

CLOCK_FIELDS = (
    ("customer", "first_seen_at"),
    ("pushanswer", "created_at"),
    ("rejectedevent", "received_at"),
    ("usagebatch", "received_at"),
    ("usagedimension", "first_seen_at"),
    ("usagekey", "created_at"),
    ("usagemetric", "first_seen_at"),
    ("usagesource", "created_at"),
    ("usageupload", "created_at"),
)


class Migration(migrations.Migration):
    """Nothing of the database changes: a field is called `chunks`, its column stays; and defaults follow `finops.lib.clock`."""

    dependencies = [("ingestion", "0009_upsert_customers_and_metrics")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameField(model_name="usageupload", old_name="pieces", new_name="chunks"),
                migrations.AlterField(
                    model_name="usageupload",
                    name="chunks",
                    field=models.IntegerField(
                        db_column="pieces", default=0, help_text="Transactions that stored a part of it."
                    ),
                ),
                migrations.AlterField(
                    model_name="usageupload",
                    name="cancel_requested_at",
                    field=models.DateTimeField(
                        blank=True,
                        help_text="When a person canceled it; checked before each chunk.",
                        null=True,
                    ),
                ),
                *(
                    migrations.AlterField(
                        model_name=model,
                        name=name,
                        field=models.DateTimeField(default=finops.lib.clock.now, editable=False),
                    )
                    for model, name in CLOCK_FIELDS
                ),
            ]
        ),
    ]
