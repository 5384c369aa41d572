"""What an incident holds is no longer in its anomalies."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("insights", "0009_incidents")]

    operations = [
        migrations.RemoveConstraint(
            model_name="anomaly",
            name="anomaly_state_is_known",
        ),
        migrations.RemoveIndex(
            model_name="anomaly",
            name="anomaly_by_state_and_day",
        ),
        migrations.RemoveField(
            model_name="anomaly",
            name="marked_at",
        ),
        migrations.RemoveField(
            model_name="anomaly",
            name="marked_by",
        ),
        migrations.RemoveField(
            model_name="anomaly",
            name="marked_by_label",
        ),
        migrations.RemoveField(
            model_name="anomaly",
            name="note",
        ),
        migrations.RemoveField(
            model_name="anomaly",
            name="primary",
        ),
        migrations.RemoveField(
            model_name="anomaly",
            name="shared_impact",
        ),
        migrations.RemoveField(
            model_name="anomaly",
            name="state",
        ),
    ]
