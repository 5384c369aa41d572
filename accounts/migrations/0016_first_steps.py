from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0015_wording"),
    ]

    operations = [
        migrations.AddField(
            model_name="membership",
            name="first_steps_dismissed_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
