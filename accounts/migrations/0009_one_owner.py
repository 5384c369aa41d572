from typing import Any

from django.db import migrations, models


def make_other_owners_admins(apps: Any, _schema_editor: Any) -> None:
    """The first owner of an account stays; the others become admins, which its audit log says."""
    Membership, AuditEntry = (apps.get_model("accounts", name) for name in ("Membership", "AuditEntry"))
    accounts = set()
    for row in Membership.objects.filter(role="owner").select_related("user").order_by("created_at", "pk"):
        if row.account_id not in accounts:
            accounts.add(row.account_id)
            continue
        row.role = "admin"
        row.save(update_fields=["role"])
        AuditEntry(
            account_id=row.account_id,
            actor_label="upgrade",
            action="member.change_role",
            target=row.user.email,
            detail={"from": "owner", "to": "admin"},
        ).save(force_insert=True)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0008_ownership"),
    ]

    operations = [
        migrations.AlterField(
            model_name="account",
            name="delete_after",
            field=models.DateTimeField(
                blank=True,
                db_index=True,
                editable=False,
                help_text="When it is deleted, if its owner wants it.",
                null=True,
            ),
        ),
        migrations.RunPython(make_other_owners_admins, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="membership",
            constraint=models.UniqueConstraint(
                condition=models.Q(("role", "owner")),
                fields=("account",),
                name="membership_one_owner",
                violation_error_message="An account has one owner.",
            ),
        ),
    ]
