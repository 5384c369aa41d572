from django.db import migrations, models

HELP = "OpenID Connect: whether the provider has its own redirect URI instead of the shared one."


class Migration(migrations.Migration):
    """Providers of before keep the URI that is registered with them."""

    dependencies = [
        ("sso", "0005_disabled_provider"),
    ]

    operations = [
        migrations.AddField(
            model_name="identityprovider",
            name="has_own_redirect_uri",
            field=models.BooleanField(default=False, help_text=HELP),
        ),
        migrations.AlterField(
            model_name="identityprovider",
            name="has_own_redirect_uri",
            field=models.BooleanField(default=True, help_text=HELP),
        ),
    ]
