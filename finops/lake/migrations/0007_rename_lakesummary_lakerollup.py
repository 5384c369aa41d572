"""Names alone: the table stays as it is, and no statement reaches the database but those of Django's own content types."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("lake", "0006_carried_by"),
    ]

    operations = [
        migrations.AlterModelTable(name="lakesummary", table="lake_lakesummary"),
        migrations.AlterModelOptions(name="lakesummary", options={}),
        migrations.RenameModel(old_name="LakeSummary", new_name="LakeRollup"),
        migrations.AlterField(
            model_name="lakerollup",
            name="segment",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="rollups", to="lake.lakesegment"
            ),
        ),
        migrations.AlterField(
            model_name="lakesegment",
            name="summarised_at",
            field=models.DateTimeField(
                blank=True,
                help_text="When rollups were made of it, or found not to be worth it.",
                null=True,
            ),
        ),
    ]
