from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0021_session_policy_rules"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("sso", "0004_factor_claim"),
    ]

    operations = [
        migrations.AddField(
            model_name="identityprovider",
            name="disabled_at",
            field=models.DateTimeField(
                blank=True,
                editable=False,
                help_text="Sign-in is off; domains stay assigned.",
                null=True,
            ),
        ),
        migrations.AddConstraint(
            model_name="identityprovider",
            constraint=models.CheckConstraint(
                condition=models.Q(("disabled_at__isnull", True), ("account__isnull", True), _connector="OR"),
                name="identity_provider_disabled_is_of_the_service",
                violation_error_message="Only a provider of the whole service can be disabled.",
            ),
        ),
    ]
