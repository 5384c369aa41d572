from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("change_events", "0001_initial")]

    operations = [
        migrations.RemoveConstraint(model_name="eventsource", name="event_source_kind_is_known"),
        migrations.AlterField(
            model_name="eventsource",
            name="kind",
            field=models.CharField(
                choices=[("push", "Push/API"), ("pull", "Pull from a vendor")], default="push", max_length=10
            ),
        ),
        migrations.AddConstraint(
            model_name="eventsource",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["push", "pull"])), name="event_source_kind_is_known"
            ),
        ),
    ]
