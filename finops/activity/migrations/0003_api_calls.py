from django.db import migrations, models

METHODS = [("tool", "Tool"), ("prompt", "Prompt"), ("api", "API")]


class Migration(migrations.Migration):
    dependencies = [
        ("activity", "0002_wording"),
    ]

    operations = [
        migrations.AlterField(
            model_name="assistantcall",
            name="method",
            field=models.CharField(choices=METHODS, max_length=10),
        ),
        migrations.AlterField(
            model_name="assistantcallcount",
            name="method",
            field=models.CharField(choices=METHODS, max_length=10),
        ),
    ]
