from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reports", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="reportschedule",
            name="format",
            field=models.CharField(
                choices=[("email", "Email"), ("email_csv", "Email with CSV")],
                default="email",
                max_length=20,
            ),
        ),
        migrations.AddField(
            model_name="reportschedule",
            name="hour",
            field=models.PositiveSmallIntegerField(default=0, help_text="Time of day in the time zone."),
        ),
        migrations.AddField(
            model_name="reportschedule",
            name="time_zone",
            field=models.CharField(default="UTC", help_text="IANA name.", max_length=64),
        ),
        migrations.AlterField(
            model_name="reportschedule",
            name="sent_month",
            field=models.DateField(
                blank=True, help_text="First day of the last month sent on schedule.", null=True
            ),
        ),
        migrations.AddConstraint(
            model_name="reportschedule",
            constraint=models.CheckConstraint(
                condition=models.Q(("hour__lte", 23)),
                name="report_schedule_hour_is_of_a_day",
                violation_error_message="The hour is from 0 to 23.",
            ),
        ),
    ]
