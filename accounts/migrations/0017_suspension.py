from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0016_first_steps"),
    ]

    operations = [
        migrations.AddField(
            model_name="account",
            name="suspended_at",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="Set by an operator: nobody comes in and no task runs until it is resumed; data stays.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="user",
            name="is_staff",
            field=models.BooleanField(
                default=False, help_text="May open the admin console; superusers also act there."
            ),
        ),
    ]
