"""A basis of its own for unit cost, budgets and forecasts. Accounts that exist keep what they count by."""

from __future__ import annotations

from typing import Any

from django.db import migrations, models


def keep_the_basis_of_today(apps: Any, _schema_editor: Any) -> None:
    account_model, view_model = apps.get_model("accounts", "Account"), apps.get_model("costs", "CostView")
    view_model.objects.update(planning_basis=models.F("basis"))
    without = account_model.objects.filter(cost_view__isnull=True)
    view_model.objects.bulk_create(
        [view_model(account=account, basis="billed", planning_basis="billed") for account in without],
        batch_size=1000,
    )


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_oauth_connection"), ("costs", "0005_content_hashes")]

    operations = [
        migrations.AddField(
            model_name="costview",
            name="planning_basis",
            field=models.CharField(
                choices=[("billed", "Billed"), ("amortized", "Amortized")],
                default="amortized",
                help_text="Basis of unit cost, budgets and forecasts.",
                max_length=10,
            ),
        ),
        migrations.AddConstraint(
            model_name="costview",
            constraint=models.CheckConstraint(
                condition=models.Q(("planning_basis__in", ["billed", "amortized"])),
                name="cost_view_planning_basis_is_known",
            ),
        ),
        migrations.RunPython(keep_the_basis_of_today, migrations.RunPython.noop),
    ]
