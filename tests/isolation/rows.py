"""For each URL argument below `/a/<slug>/`: how to make the row of an account that it names.

A URL with a new argument fails the walk until it has its maker here.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import date, timedelta

import msgspec

from accounts.keys import mint_mcp_key
from accounts.models import Account, Invitation, Membership, OAuthApplication
from accounts.oauth.services import open_connection
from accounts.scoping import account_scope
from accounts.sso.models import EmailDomain, GroupMapping, IdentityProvider
from accounts.sso.scim.tokens import create_scim_token
from finops.activity.models import AssistantCall
from finops.alerts.channel_targets import EmailTarget, seal_target
from finops.alerts.messages import Message
from finops.alerts.models import AlertChannel, AlertDelivery, AlertRecipient, AlertSubscription
from finops.allocation.models import CostTag, SharedCostSplit, Team, TeamMember, TeamValue
from finops.budgets.models import Budget
from finops.change_events.models import EventSource
from finops.connections.models import CostConnection, CostPush, CostSync
from finops.cost_access.models import CostAccessLimit
from finops.costs.models import ClosedMonth, CostImport, CostSource, InvoiceTotal, SavedView
from finops.dashboards.models import Dashboard, Widget
from finops.data_exports.models import DataExport, DataExportRun
from finops.exchange_rates.models import ExchangeRate
from finops.exports.models import AccountExport
from finops.insights.models import SavingsDismissal
from finops.issues.models import IssueTracker, SavingIssue
from finops.issues.tracker_configs import seal_secret
from finops.lib import clock
from finops.reports.models import ReportSchedule
from finops.unitcosts.models import CustomerAlias, UnitMetric, UsageDimensionMapping
from ingestion.models import Customer, UsageMetric, UsageSource, UsageUpload
from tests.cast import ACTOR
from tests.world.anomalies import add_anomaly


def _mcp_key(account: Account) -> object:
    key, _plaintext = mint_mcp_key(account=account, actor=ACTOR, name="walk")
    return key.pk


def _membership(account: Account) -> object:
    return Membership.objects.filter(account=account).order_by("pk").values_list("pk", flat=True)[0]


def _invitation(account: Account) -> int:
    with account_scope(account):
        return Invitation.objects.create(
            account=account,
            email=f"{secrets.token_hex(4)}@example.com",
            invited_by_label="walk",
            expires_at=clock.now() + timedelta(days=7),
        ).pk


def _source(account: Account) -> int:
    with account_scope(account):
        return CostSource.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def _cost_connection(account: Account) -> CostConnection:
    with account_scope(account):
        return CostConnection.objects.create(
            account=account, source_id=_source(account), connector="folder", external_id=secrets.token_hex(4)
        )


def _synced_source(account: Account) -> int:
    return _cost_connection(account).source.pk


def _pulled_source(account: Account) -> int:
    with account_scope(account):
        source = UsageSource.objects.create(
            account=account, name=f"walk {secrets.token_hex(4)}", kind=UsageSource.Kind.PULL
        )
        CostConnection.objects.create(
            account=account,
            usage_source=source,
            connector="usage_postgresql",
            external_id=secrets.token_hex(4),
        )
    return source.pk


def _import(account: Account) -> int:
    with account_scope(account):
        return CostImport.objects.create(account=account, source_id=_source(account), file_name="walk.csv").pk


def _sync(account: Account) -> int:
    connection = _cost_connection(account)
    with account_scope(account):
        return CostSync.objects.create(account=account, connection=connection).pk


def _invoice_total(account: Account) -> int:
    with account_scope(account):
        return InvoiceTotal.objects.create(
            account=account,
            issuer="walk",
            invoice_id=secrets.token_hex(4),
            billing_period=date(2026, 5, 1),
            currency="USD",
            amount=1,
        ).pk


def _cost_push(account: Account) -> int:
    with account_scope(account):
        return CostPush.objects.create(
            account=account,
            source_id=_source(account),
            month=date(2026, 5, 1),
            status="queued",
            committed_parts=1,
            committed_at=clock.now(),
            expires_at=clock.now() + timedelta(days=1),
        ).pk


def _closed_month(account: Account) -> int:
    with account_scope(account):
        month = date(2000 + secrets.randbelow(90), 1 + secrets.randbelow(12), 1)
        return ClosedMonth.objects.get_or_create(account=account, month=month)[0].pk


def _data_export(account: Account) -> int:
    with account_scope(account):
        return DataExport.objects.create(
            account=account,
            name=f"walk-{secrets.token_hex(4)}",
            destination="s3",
            external_id=secrets.token_hex(4),
        ).pk


def _data_export_run(account: Account) -> int:
    export_id = _data_export(account)
    with account_scope(account):
        return DataExportRun.objects.create(account=account, export_id=export_id).pk


def _event_source(account: Account) -> int:
    with account_scope(account):
        return EventSource.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def _usage_source(account: Account) -> int:
    with account_scope(account):
        return UsageSource.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def _usage_upload(account: Account) -> int:
    with account_scope(account):
        return UsageUpload.objects.create(
            account=account,
            source_id=_usage_source(account),
            file_name="walk.csv",
            path="/nowhere",
            digest=secrets.token_hex(32),
        ).pk


def _usage_metric(account: Account) -> int:
    with account_scope(account):
        return UsageMetric.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def _connection(account: Account) -> int:
    """Of the account's first member, who is neither the viewer nor the stranger of the walk."""
    first = Membership.objects.filter(account=account).order_by("pk").select_related("user")[0]
    application = OAuthApplication.objects.create(
        client_id=f"walk-{secrets.token_hex(4)}",
        client_type=OAuthApplication.CLIENT_PUBLIC,
        authorization_grant_type=OAuthApplication.GRANT_AUTHORIZATION_CODE,
    )
    return open_connection(
        user=first.user, account=account, application=application, access="read", redirect_uri=""
    ).pk


def _customer(account: Account) -> int:
    with account_scope(account):
        return Customer.objects.create(account=account, customer_id=f"walk {secrets.token_hex(4)}").pk


def _customer_alias(account: Account) -> int:
    with account_scope(account):
        return CustomerAlias.objects.create(
            account=account, value=secrets.token_hex(4), customer_id="walk"
        ).pk


def _usage_dimension_mapping(account: Account) -> int:
    with account_scope(account):
        return UsageDimensionMapping.objects.create(
            account=account, cost_dimension=f"tag:{secrets.token_hex(4)}", usage_dimension="region"
        ).pk


def _cost_tag(account: Account) -> int:
    with account_scope(account):
        return CostTag.objects.create(account=account, key=f"walk {secrets.token_hex(4)}").pk


def _budget(account: Account) -> int:
    with account_scope(account):
        return Budget.objects.create(
            account=account, name=f"walk {secrets.token_hex(4)}", amount=100, currency="USD"
        ).pk


def _team(account: Account) -> int:
    with account_scope(account):
        return Team.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def _team_member(account: Account) -> int:
    with account_scope(account):
        membership = Membership.objects.filter(account=account).order_by("pk")[0]
        return TeamMember.objects.create(account=account, team_id=_team(account), membership=membership).pk


def _team_value(account: Account) -> int:
    with account_scope(account):
        return TeamValue.objects.create(
            account=account, team_id=_team(account), value=f"walk {secrets.token_hex(4)}"
        ).pk


def _split(account: Account) -> int:
    with account_scope(account):
        return SharedCostSplit.objects.create(
            account=account,
            name=f"walk {secrets.token_hex(4)}",
            dimension="service",
            source_value="walk",
            method="even",
            targets=[{"value": "other", "percent": None}],
        ).pk


def _unit_metric(account: Account) -> int:
    with account_scope(account):
        name = f"walk {secrets.token_hex(4)}"
        return UnitMetric.objects.create(account=account, name=name, usage_metric="requests").pk


def _alert_subscription(account: Account) -> int:
    with account_scope(account):
        return AlertSubscription.objects.create(
            account=account,
            channel_id=_alert_channel(account),
            trigger="digest",
            frequency="weekly",
            fingerprint=secrets.token_hex(32),
        ).pk


def _anomaly(account: Account) -> str:
    with account_scope(account):
        return add_anomaly(
            account,
            CostSource.objects.get(pk=_source(account)),
            key=f"anom_{secrets.token_hex(8)}",
            value="walk",
            currency="USD",
            kind="spike",
            severity="low",
            first_day=date(2026, 1, 1),
            last_day=date(2026, 1, 2),
            actual=3,
            expected=1,
            impact=2,
            month_end_impact=2,
            days=[["2026-01-01", "3", "1", "0", "2"]],
        ).key


def _savings_dismissal(account: Account) -> str:
    with account_scope(account):
        return SavingsDismissal.objects.create(
            key=f"sav_{secrets.token_hex(8)}",
            status="dismissed",
            reason="walk",
            rule="volume_type",
            title="walk",
            currency="USD",
            monthly_cost=1,
        ).key


def _exchange_rate(account: Account) -> int:
    with account_scope(account):
        first = ExchangeRate.objects.filter(source="entered").order_by("-day").first()
        day = first.day + timedelta(days=1) if first else date(2026, 1, 1)
        return ExchangeRate.objects.create(day=day, base="EUR", quote="USD", rate=1, source="entered").pk


def _issue_tracker(account: Account) -> int:
    with account_scope(account):
        tracker = IssueTracker(account=account, name=f"walk {secrets.token_hex(4)}", kind="linear")
        tracker.config, tracker.credentials = {"team_key": "ENG"}, seal_secret(tracker, "walk")
        tracker.save()
        return tracker.pk


def _saving_issue(account: Account) -> int:
    with account_scope(account):
        return SavingIssue.objects.create(
            tracker_id=_issue_tracker(account),
            saving_key=_savings_dismissal(account),
            state="failed",
            next_attempt_at=None,
            content={"title": "walk"},
            saving={},
        ).pk


def _dashboard(account: Account) -> int:
    with account_scope(account):
        return Dashboard.objects.create(account=account, name=f"walk {secrets.token_hex(4)}").pk


def _saved_view(account: Account) -> int:
    with account_scope(account):
        name = f"walk {secrets.token_hex(4)}"
        return SavedView.objects.create(account=account, name=name, question={"period": "last_30_days"}).pk


def _widget(account: Account) -> int:
    with account_scope(account):
        return Widget.objects.create(
            account=account, dashboard_id=_dashboard(account), order=0, type="total", x=0, y=0, w=3, h=3
        ).pk


def _assistant_call(account: Account) -> int:
    with account_scope(account):
        return AssistantCall.objects.create(
            account=account,
            at=clock.now(),
            method="tool",
            name="walk",
            arguments="{}",
            credential_kind="mcp_key",
            credential_id=1,
            credential_label="walk",
            outcome="ok",
            milliseconds=1,
            answer_bytes=1,
            problem="",
            console_page="",
        ).pk


def _alert_recipient(account: Account) -> int:
    with account_scope(account):
        address = f"walk-{secrets.token_hex(4)}@example.com"
        return AlertRecipient.objects.create(account=account, address=address).pk


def _alert_channel(account: Account) -> int:
    target = seal_target(EmailTarget(addresses=("walk@example.com",)), account.pk)
    with account_scope(account):
        return AlertChannel.objects.create(
            account=account, name=f"walk {secrets.token_hex(4)}", kind="email", target=target
        ).pk


def _alert_delivery(account: Account) -> int:
    message = Message(title="walk", summary="", url="https://walk.example/", kind="test", dedup_key="walk")
    with account_scope(account):
        return AlertDelivery.objects.create(
            account=account,
            channel_id=_alert_channel(account),
            channel_name="walk",
            channel_kind="email",
            message=msgspec.to_builtins(message),
        ).pk


def _report_schedule(account: Account) -> int:
    with account_scope(account):
        return ReportSchedule.objects.create(account=account, channel_id=_alert_channel(account), day=5).pk


def _account_export(account: Account) -> int:
    with account_scope(account):
        return AccountExport.objects.create(account=account).pk


def _identity_provider(account: Account) -> int:
    return IdentityProvider.objects.create(
        account=account,
        protocol="oidc",
        name=f"walk {secrets.token_hex(4)}",
        issuer="https://walk.example",
        client_id="walk",
    ).pk


def _scim_token(account: Account) -> int:
    provider = IdentityProvider.objects.select_related("account").get(pk=_identity_provider(account))
    return create_scim_token(provider=provider, actor=ACTOR)[0].pk


def _email_domain(account: Account) -> int:
    return EmailDomain.objects.create(
        provider_id=_identity_provider(account),
        domain=f"{secrets.token_hex(4)}.example",
        record=secrets.token_hex(8),
    ).pk


def _group_mapping(account: Account) -> int:
    with account_scope(account):
        return GroupMapping.objects.create(account=account, group=secrets.token_hex(4), role="viewer").pk


def _cost_access_limit(account: Account) -> int:
    with account_scope(account):
        return CostAccessLimit.objects.create(
            account=account,
            name=f"walk {secrets.token_hex(4)}",
            alternatives=[[{"dimension": "service", "op": "in", "values": ["EC2"]}]],
        ).pk


MAKERS: dict[str, Callable[[Account], object]] = {
    "limit_id": _cost_access_limit,
    "provider_id": _identity_provider,
    "domain_id": _email_domain,
    "scim_token_id": _scim_token,
    "group_mapping_id": _group_mapping,
    "key_id": _mcp_key,
    "membership_id": _membership,
    "invitation_id": _invitation,
    "source_id": _source,
    "synced_source_id": _synced_source,
    "pulled_source_id": _pulled_source,
    "import_id": _import,
    "sync_id": _sync,
    "push_id": _cost_push,
    "export_id": _account_export,
    "closed_month_id": _closed_month,
    "invoice_total_id": _invoice_total,
    "alias_id": _customer_alias,
    "mapping_id": _usage_dimension_mapping,
    "connection_id": _connection,
    "usage_source_id": _usage_source,
    "event_source_id": _event_source,
    "data_export_id": _data_export,
    "run_id": _data_export_run,
    "usage_upload_id": _usage_upload,
    "usage_metric_id": _usage_metric,
    "customer_pk": _customer,
    "anomaly_key": _anomaly,
    "subscription_id": _alert_subscription,
    "saving_key": _savings_dismissal,
    "tracker_id": _issue_tracker,
    "saving_issue_id": _saving_issue,
    "issue_id": _saving_issue,
    "unit_metric_id": _unit_metric,
    "team_id": _team,
    "team_member_id": _team_member,
    "team_value_id": _team_value,
    "budget_id": _budget,
    "dashboard_id": _dashboard,
    "saved_view_id": _saved_view,
    "widget_id": _widget,
    "cost_tag_id": _cost_tag,
    "split_id": _split,
    "recipient_id": _alert_recipient,
    "channel_id": _alert_channel,
    "delivery_id": _alert_delivery,
    "call_id": _assistant_call,
    "rate_id": _exchange_rate,
    "schedule_id": _report_schedule,
}
