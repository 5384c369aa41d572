from django.db import migrations, models
from django.db.migrations.state import StateApps

import finops.lib.clock


def begin_requirements(apps: StateApps, _schema: object) -> None:
    """Of accounts that demand a second factor already: since now, without days to set one up, as it was."""
    account = apps.get_model("accounts", "Account")
    account.objects.filter(second_factor_required=True).update(
        second_factor_required_at=finops.lib.clock.now()
    )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0019_account_deletion"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="second_factor_grace_days",
            field=models.PositiveSmallIntegerField(
                default=0,
                help_text="Days to set one up, from the start of the requirement or from joining.",
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="second_factor_required_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddField(
            model_name="account",
            name="session_idle_minutes",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="Maximum idle time of a session in minutes; blank: no limit.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="account",
            name="session_max_hours",
            field=models.PositiveSmallIntegerField(
                blank=True,
                help_text="Maximum age of a session in hours; blank: no limit.",
                null=True,
            ),
        ),
        migrations.AddField(
            model_name="session",
            name="longest_idle_seconds",
            field=models.PositiveIntegerField(default=0, help_text="Longest idle time since the sign-in."),
        ),
        migrations.AddField(
            model_name="oauthconnection",
            name="session_had_factor",
            field=models.BooleanField(
                default=False,
                editable=False,
                help_text="Whether the consent was given in a session with a second factor.",
            ),
        ),
        migrations.RunPython(begin_requirements, migrations.RunPython.noop, elidable=True),
    ]
