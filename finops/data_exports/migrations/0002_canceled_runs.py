import uuid

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("data_exports", "0001_initial"),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name="dataexportrun",
            name="data_export_run_status_is_known",
        ),
        migrations.AddField(
            model_name="dataexportrun",
            name="cancel_requested_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="dataexportrun",
            name="execution_id",
            field=models.UUIDField(
                default=uuid.uuid4,
                editable=False,
                help_text="Prefix of its file names, new for each attempt.",
                unique=True,
            ),
        ),
        migrations.AlterField(
            model_name="dataexportrun",
            name="status",
            field=models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("done", "Done"),
                    ("failed", "Failed"),
                    ("canceled", "Canceled"),
                ],
                default="queued",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="dataexportrun",
            constraint=models.CheckConstraint(
                condition=models.Q(("status__in", ["queued", "running", "done", "failed", "canceled"])),
                name="data_export_run_status_is_known",
            ),
        ),
    ]
