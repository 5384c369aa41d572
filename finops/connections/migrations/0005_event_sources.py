import django.db.models.deletion
from django.db import migrations, models

import finops.lib.clock


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0021_session_policy_rules"),
        ("change_events", "0002_pull_sources"),
        ("connections", "0004_usage_sources"),
    ]

    operations = [
        migrations.AddField(
            model_name="costconnection",
            name="event_source",
            field=models.OneToOneField(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="connection",
                to="change_events.eventsource",
            ),
        ),
        migrations.RemoveConstraint(model_name="costconnection", name="cost_connection_of_one_source"),
        migrations.AddConstraint(
            model_name="costconnection",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("event_source__isnull", True),
                        ("source__isnull", False),
                        ("usage_source__isnull", True),
                    ),
                    models.Q(
                        ("event_source__isnull", True),
                        ("source__isnull", True),
                        ("usage_source__isnull", False),
                    ),
                    models.Q(
                        ("event_source__isnull", False),
                        ("source__isnull", True),
                        ("usage_source__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="cost_connection_of_one_source",
            ),
        ),
        migrations.CreateModel(
            name="ConnectionPageCache",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("content", models.BinaryField()),
                ("updated_at", models.DateTimeField(default=finops.lib.clock.now)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.account"
                    ),
                ),
                (
                    "connection",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="page_cache",
                        to="connections.costconnection",
                    ),
                ),
            ],
            options={"abstract": False},
        ),
    ]
