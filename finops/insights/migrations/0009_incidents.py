"""An incident of its own holds review and sums; each was an anomaly that others named as their primary."""

from decimal import Decimal

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import finops.lib.clock

FIELDS = ("account_id", "key", "source_id", "state", "severity", "currency", "first_day", "last_day", "ongoing", "actual",
          "expected", "impact", "month_end_impact", "shared_impact", "note", "marked_by_label", "marked_by_id",
          "marked_at")  # fmt: skip


def make_incidents(apps, schema_editor):
    Anomaly, Incident = apps.get_model("insights", "Anomaly"), apps.get_model("insights", "Incident")
    for row in Anomaly.objects.filter(primary=None).iterator(chunk_size=500):
        inside = [day for day in row.days if str(row.first_day) <= day[0] <= str(row.last_day)]
        low, high = (sum((Decimal(day[place]) for day in inside), Decimal(0)) for place in (3, 4))
        incident = Incident.objects.create(
            headline=row,
            expected_low=low,
            expected_high=high,
            **{name: getattr(row, name) for name in FIELDS},
        )
        Anomaly.objects.filter(pk=row.pk).update(incident=incident)
        Anomaly.objects.filter(primary=row).update(incident=incident, is_counted=False)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0015_wording"),
        ("costs", "0018_wording_of_views"),
        ("insights", "0008_wording"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Incident",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        help_text="Public ID: key of the first headline anomaly.", max_length=24
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Open"), ("expected", "Expected"), ("resolved", "Resolved")],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "severity",
                    models.CharField(
                        choices=[("high", "High"), ("medium", "Medium"), ("low", "Low")], max_length=10
                    ),
                ),
                ("currency", models.CharField(max_length=60)),
                ("first_day", models.DateField()),
                ("last_day", models.DateField()),
                ("ongoing", models.BooleanField(default=False)),
                ("actual", models.DecimalField(decimal_places=18, max_digits=38)),
                ("expected", models.DecimalField(decimal_places=18, max_digits=38)),
                ("expected_low", models.DecimalField(decimal_places=18, max_digits=38)),
                ("expected_high", models.DecimalField(decimal_places=18, max_digits=38)),
                (
                    "impact",
                    models.DecimalField(
                        decimal_places=18, help_text="actual - expected, so far", max_digits=38
                    ),
                ),
                (
                    "month_end_impact",
                    models.DecimalField(
                        decimal_places=18,
                        help_text="The impact at the end of the last day's month.",
                        max_digits=38,
                    ),
                ),
                (
                    "shared_impact",
                    models.DecimalField(
                        decimal_places=18,
                        default=Decimal("0"),
                        help_text="Part of the impact that other incidents count.",
                        max_digits=38,
                    ),
                ),
                ("note", models.TextField(blank=True)),
                ("marked_by_label", models.CharField(blank=True, max_length=254)),
                ("marked_at", models.DateTimeField(blank=True, null=True)),
                ("updated_at", models.DateTimeField(default=finops.lib.clock.now, editable=False)),
            ],
            options={
                "ordering": ["-last_day", "-id"],
            },
        ),
        migrations.AddField(
            model_name="anomaly",
            name="is_counted",
            field=models.BooleanField(default=True, help_text="Whether the incident's amounts include it."),
        ),
        migrations.AddField(
            model_name="anomaly",
            name="overlaps",
            field=models.JSONField(
                default=dict,
                help_text="Excess cost of the anomaly's lines by monitored dimension and value, as strings.",
            ),
        ),
        migrations.AddField(
            model_name="incident",
            name="account",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="accounts.account"
            ),
        ),
        migrations.AddField(
            model_name="incident",
            name="headline",
            field=models.ForeignKey(
                help_text="The most specific member that explains at least 80% of the impact.",
                on_delete=django.db.models.deletion.CASCADE,
                related_name="+",
                to="insights.anomaly",
            ),
        ),
        migrations.AddField(
            model_name="incident",
            name="marked_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="incident",
            name="source",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE, related_name="+", to="costs.costsource"
            ),
        ),
        migrations.AddField(
            model_name="anomaly",
            name="incident",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="members",
                to="insights.incident",
            ),
        ),
        migrations.AddIndex(
            model_name="anomaly",
            index=models.Index(fields=["account", "-last_day"], name="anomaly_by_day"),
        ),
        migrations.AddIndex(
            model_name="incident",
            index=models.Index(fields=["account", "state", "-last_day"], name="incident_by_state_and_day"),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.UniqueConstraint(fields=("account", "key"), name="incident_key_unique"),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["open", "expected", "resolved"])),
                name="incident_state_is_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="incident",
            constraint=models.CheckConstraint(
                condition=models.Q(("first_day__lte", models.F("last_day"))),
                name="incident_days_are_in_order",
            ),
        ),
        migrations.RunPython(make_incidents, migrations.RunPython.noop),
    ]
