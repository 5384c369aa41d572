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
                help_text="Set by an operator: blocks sign-in and tasks until it is resumed; data is kept.",
                null=True,
            ),
        ),
        migrations.AlterField(
            model_name="user",
            name="is_staff",
            field=models.BooleanField(
                default=False, help_text="Can open the admin console; superusers can also make changes there."
            ),
        ),
    ]
