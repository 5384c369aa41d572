"""What limited members made before gets their limit."""

from django.db import migrations

OWNED = (
    ("key_id", "accounts_mcpkey", "id", "created_by_id"),
    ("connection_id", "accounts_oauthconnection", "id", "user_id"),
    ("connection_id", "accounts_serviceaccount", "connection_id", "created_by_id"),
    ("data_export_id", "data_exports_dataexport", "id", "created_by_id"),
    ("report_schedule_id", "reports_reportschedule", "id", "created_by_id"),
    ("alert_channel_id", "alerts_alertchannel", "id", "created_by_id"),
    ("alert_subscription_id", "alerts_alertsubscription", "id", "created_by_id"),
)
NARROW = """
INSERT INTO cost_access_costaccessassignment (account_id, limit_id, created_at, {reader})
SELECT a.account_id, a.limit_id, now(), o.{pk}
  FROM cost_access_costaccessassignment a
  JOIN accounts_membership m ON m.id = a.membership_id AND m.role IN ('viewer', 'member')
  JOIN {table} o ON o.account_id = a.account_id AND o.{owner} = m.user_id
ON CONFLICT DO NOTHING
"""


class Migration(migrations.Migration):
    dependencies = [
        ("cost_access", "0005_creations"),
        ("accounts", "0024_service_account_keys"),
    ]

    operations = [
        migrations.RunSQL(
            [
                NARROW.format(reader=reader, table=table, pk=pk, owner=owner)
                for reader, table, pk, owner in OWNED
            ],
            migrations.RunSQL.noop,
        )
    ]
