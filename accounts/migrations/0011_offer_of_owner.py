from typing import Any

from django.db import migrations
from django.db.models import Exists, OuterRef


def withdraw_offers_of_others(apps: Any, _schema_editor: Any) -> None:
    """An offer is the owner's from now on: one by somebody who owns the account no more ends."""
    Account, Membership = (apps.get_model("accounts", name) for name in ("Account", "Membership"))
    by_owner = Membership.objects.filter(account=OuterRef("pk"), user=OuterRef("transfer_by"), role="owner")
    Account.objects.filter(~Exists(by_owner), transfer_to__isnull=False).update(transfer_to=None)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_failed_sign_in_of_nobody"),
    ]

    operations = [
        migrations.RunPython(withdraw_offers_of_others, migrations.RunPython.noop),
        migrations.RemoveField(
            model_name="account",
            name="transfer_by",
        ),
    ]
