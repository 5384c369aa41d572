import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import finops.lib.clock


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0021_session_policy_rules"),
        ("cost_access", "0003_providers"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="FormerMemberLimit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("left_at", models.DateTimeField(default=finops.lib.clock.now, editable=False)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="accounts.account",
                    ),
                ),
                (
                    "limit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="former_members",
                        to="cost_access.costaccesslimit",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.UniqueConstraint(fields=("account", "user"), name="cost_access_one_former_limit")
                ],
            },
        ),
    ]
