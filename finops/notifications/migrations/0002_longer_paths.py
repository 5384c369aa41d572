from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("notifications", "0001_initial")]

    operations = [
        migrations.AlterField(
            model_name="notification",
            name="path",
            field=models.CharField(max_length=2000, help_text="URL of its page, with the query."),
        ),
    ]
