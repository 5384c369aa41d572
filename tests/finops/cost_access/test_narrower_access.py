"""What a person made reads less as soon as the person is limited, at each of its doors, and nothing widens it again."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account, AuditEntry, MCPKey, Membership, Role, ServiceAccount
from accounts.oauth.service_accounts import create_service_account
from accounts.scoping import account_scope
from accounts.services import change_role, remove_member
from finops.alerts import services as alerts
from finops.alerts.models import AlertChannel, AlertDelivery, AlertSubscription
from finops.alerts.services import deliver
from finops.cost_access.creations import limit_key
from finops.cost_access.models import CostAccessAssignment, CostAccessLimit
from finops.cost_access.services import create_limit, limit_member
from finops.costs.spend_query import CostFilter
from finops.data_exports.models import DataExportRun
from finops.lib import clock
from finops.lib.errors import UserError
from finops.reports import services as reports
from finops.reports.services import ReportScheduleDraft
from tests.accounts.oauth.flow import OAuthClient, mcp_status
from tests.accounts.sso.scim.client import create_scim
from tests.accounts.sso.test_groups import add_mapping
from tests.cast import ACTOR, Cast, signed_in
from tests.factories.alerts import evaluate, subscription_draft
from tests.factories.budgets import create_budget, source_scope
from tests.factories.costs import add_source, cost
from tests.factories.days import at, days
from tests.factories.deliveries import create_mail_channel, message
from tests.finops.connections.conftest import S3TestBucket, moto_server, s3
from tests.finops.data_exports.bills import Bucket
from tests.mcpserver.mcp_client import McpClient
from tests.pages import get_page, text_of

__all__ = ["moto_server", "s3"]

READERS = "/a/acme/settings/cost-access/"
MEMBERS = "/a/acme/settings/members/"
FEBRUARY = {"start_date": "2026-02-01", "end_date": "2026-02-28"}


@pytest.fixture
def bill(acme: Account) -> Account:
    """February: 28 USD of EC2 from AWS, 280 USD of S3 and 2,800 USD of Run from Google."""
    first, last = date(2026, 2, 1), date(2026, 3, 18)
    aws = [
        line
        for day in days(first, last)
        for line in (cost(day, 1, service="EC2"), cost(day, 10, service="S3"))
    ]
    add_source(acme, aws, name="AWS")
    add_source(acme, [cost(day, 100, service="Run") for day in days(first, last)], name="Google")
    return acme


@pytest.fixture
def broad(bill: Account) -> CostAccessLimit:
    return limit_of(bill, "Broad", "source", "AWS")


@pytest.fixture
def narrow(bill: Account) -> CostAccessLimit:
    return limit_of(bill, "Narrow", "service", "EC2", "Run")


def limit_of(account: Account, name: str, dimension: str, *values: str) -> CostAccessLimit:
    filters = [[CostFilter(dimension=dimension, values=list(values))]]
    return create_limit(account=account, actor=ACTOR, name=name, alternatives=filters)


def membership(cast: Cast, name: str = "member") -> Membership:
    rows = Membership.objects.select_related("account", "user")
    return rows.get(account=cast.account, user=cast.person(name))


def limit(cast: Cast, limit: CostAccessLimit | None, name: str = "member") -> None:
    limit_member(membership=membership(cast, name), limit=limit, actor=ACTOR)


def mint(cast: Cast, name: str = "Notebook", **fields: Any) -> tuple[MCPKey, McpClient]:
    key, plaintext = mint_mcp_key(
        account=cast.account, actor=Actor.of_user(cast.member), name=name, scope="read_write", **fields
    )
    return key, McpClient(plaintext)


def spend(client: McpClient) -> Decimal:
    totals = client.ask("querySpend", **FEBRUARY)["totals"]
    return Decimal(str(totals[0]["amount"])) if totals else Decimal()


def status_of(client: McpClient) -> int:
    return mcp_status(client.key or "")


def test_a_key_reads_what_all_limits_of_its_person_leave_and_keeps_them(
    cast: Cast, broad: CostAccessLimit, narrow: CostAccessLimit
) -> None:
    key, client = mint(cast)
    amounts = [spend(client)]
    for each in (broad, narrow, broad, None):
        limit(cast, each)
        amounts.append(spend(client))

    assert amounts == [3108, 308, 28, 28, 28]
    with account_scope(cast.account):
        entries = AuditEntry.objects.filter(action="cost_access.narrow").order_by("pk")
        assert [(entry.target, entry.detail["kind"], entry.detail["limit"]) for entry in entries] == [
            (key.name, "MCP key", "Broad"),
            (key.name, "MCP key", "Narrow"),
        ]


def test_a_connected_app_does_not_widen_with_its_person(cast: Cast, broad: CostAccessLimit) -> None:
    with clock.frozen(datetime.now(UTC)):  # django-oauth-toolkit has a clock of its own
        before = McpClient(OAuthClient().connect(cast.member).access)
        limit(cast, broad)
        after = McpClient(OAuthClient().connect(cast.member).access)
        limit(cast, None)

        assert [spend(before), spend(after)] == [308, 308]


def test_an_admin_who_gives_a_key_another_limit_cannot_pass_its_persons(
    cast: Cast, broad: CostAccessLimit, narrow: CostAccessLimit
) -> None:
    key, client = mint(cast)
    limit(cast, narrow)
    amounts = []
    for choice in (broad, None):
        limit_key(key=key, limit=choice, actor=ACTOR)
        amounts.append(spend(client))
    limit(cast, None)
    limit_key(key=key, limit=None, actor=ACTOR)

    assert [*amounts, spend(client)] == [28, 2828, 3108]


def test_a_lower_role_narrows_what_an_admin_made(cast: Cast, broad: CostAccessLimit) -> None:
    """The limit of an admin does not count until then."""
    limit(cast, broad)
    change_role(membership=membership(cast), role=Role.ADMIN, actor=ACTOR)
    _key, client = mint(cast)
    amounts = [spend(client)]
    client_of_admin = signed_in(cast.admin)
    page = text_of(client_of_admin.post(f"{MEMBERS}{membership(cast).pk}/role/", {"role": "viewer"}))
    assert "MCP key (1): Notebook" in page
    amounts.append(spend(client))
    client_of_admin.post(f"{MEMBERS}{membership(cast).pk}/role/", {"role": "viewer", "confirmed": "1"})

    assert [*amounts, spend(client)] == [3108, 3108, 308]


def test_groups_that_lower_a_role_narrow_too(cast: Cast, broad: CostAccessLimit) -> None:
    scim = create_scim(cast.account)
    add_mapping(cast, "FinOps", role=Role.ADMIN)
    ann = scim.create_user("ann")
    group = scim.create_group("FinOps", ann["id"])
    row = Membership.objects.select_related("account", "user").get(user__email="ann@example.com")
    with account_scope(cast.account):
        CostAccessAssignment.objects.create(account=cast.account, membership=row, limit=broad)
    _key, plaintext = mint_mcp_key(
        account=cast.account, actor=Actor.of_user(row.user), name="Notebook", scope="read"
    )
    client = McpClient(plaintext)
    amounts = [spend(client)]
    scim.ask("DELETE", f"Groups/{group['id']}")

    assert [*amounts, spend(client)] == [3108, 308]


def test_an_edited_limit_narrows_a_key_and_widens_it_by_choice_only(
    cast: Cast, broad: CostAccessLimit
) -> None:
    _key, client = mint(cast)
    limit(cast, broad)
    url, admin, amounts = f"{READERS}{broad.pk}/", signed_in(cast.admin), []
    assert "MCP key (1): Notebook" in get_page(admin, url)
    only_ec2 = {"name": "Broad", "f0": "service", "f0v": ["EC2"]}
    everything = {"name": "Broad", "f0": "service", "f0v": ["EC2", "S3", "Run"]}
    for fields in (only_ec2, everything, {**everything, "widens_creations": "on"}):
        assert admin.post(url, fields).status_code == 302
        amounts.append(spend(client))
    assert "Core" not in get_page(admin, READERS)
    assert get_page(admin, READERS).count("until 2026") == 0

    assert amounts == [28, 28, 3108]


def test_the_page_says_what_a_limit_narrows_before_it_does(cast: Cast, broad: CostAccessLimit) -> None:
    _key, client = mint(cast)
    AlertChannel.objects.create(account=cast.account, name="Hook", kind="slack", created_by=cast.member)
    admin, url = signed_in(cast.admin), f"{READERS}members/{membership(cast).pk}/"
    page = text_of(admin.post(url, {"limit": broad.pk}))

    assert "MCP key (1): Notebook" in page
    assert "Alert channel (1): Hook" in page
    assert spend(client) == 3108
    admin.post(url, {"limit": broad.pk, "confirmed": "1"})
    assert spend(client) == 308
    listed = get_page(admin, f"{READERS}readers/", kind="alert_channel")
    assert "Hook" in listed
    with account_scope(cast.account):
        channel = AlertChannel.objects.get(name="Hook")
    limit(cast, None)
    admin.post(f"{READERS}alert-channels/{channel.pk}/", {"limit": ""})
    with account_scope(cast.account):
        assert not CostAccessAssignment.objects.filter(alert_channel=channel).exists()


def test_a_report_is_of_the_cost_within_the_limits(cast: Cast, broad: CostAccessLimit) -> None:
    channel = create_mail_channel(cast.account, "cfo@example.com", name="Finance")
    reports.create_report_schedule(
        account=cast.account,
        actor=Actor.of_user(cast.member),
        draft=ReportScheduleDraft(channel_id=channel.pk, day=5),
    )
    limit(cast, broad)
    with at(date(2026, 4, 5)):
        (due,) = reports.schedules_due()
        delivery = reports.send_if_due(account=Account.objects.get(pk=due[0]), schedule_id=due[1])

    assert delivery is not None
    assert delivery.message["data"]["totals"] == [{"total": {"amount": 198.0, "currency": "USD"}}]
    assert delivery.message["summary"].startswith("Cost access is limited to Broad.")


def test_alerts_are_sent_for_budgets_within_the_limits_alone(cast: Cast, broad: CostAccessLimit) -> None:
    account, actor = cast.account, Actor.of_user(cast.member)
    create_mail_channel(account, "ops@example.com", name="Ops")
    create_budget(account, "All", 100)
    create_budget(account, "Of AWS", 100, scope=source_scope("AWS"))
    with account_scope(account):
        for budget in ("All", "Of AWS"):
            draft = subscription_draft("budget", budget=budget, thresholds=(50,))
            alerts.create_alert_subscription(account=account, actor=actor, draft=draft)
        limit(cast, broad)
        titles = evaluate(account)

    assert [("Of AWS" in title, "All" in title) for title in titles] == [(True, False)]
    assert get_page(signed_in(cast.admin), "/a/acme/alerts/").count("Inactive") == 1


def test_a_message_that_waits_is_not_sent_to_a_channel_limited_meanwhile(
    cast: Cast, broad: CostAccessLimit
) -> None:
    with account_scope(cast.account):
        channel = create_mail_channel(cast.account, "ops@example.com", name="Ops")
        AlertChannel.objects.update(created_by=cast.member)
        delivery = deliver(account=cast.account, channel=channel, message=message())
        with clock.frozen(clock.now() + timedelta(minutes=1)):
            limit(cast, broad)
            alerts.send_delivery(account=cast.account, delivery_id=delivery.pk)
    delivery.refresh_from_db()

    assert delivery.status == AlertDelivery.Status.FAILED


def test_a_limited_data_export_writes_nothing(
    cast: Cast, bill: Account, broad: CostAccessLimit, s3: S3TestBucket
) -> None:
    bucket = Bucket(bill, cast, s3)
    export = bucket.create()
    completed = bucket.run(export)
    limit(cast, broad)
    keys = bucket.keys()
    refused = bucket.run(export)

    assert (completed.status, refused.status) == (
        DataExportRun.RunStatus.DONE,
        DataExportRun.RunStatus.FAILED,
    )
    assert "limited to Broad" in refused.error
    assert bucket.keys() == keys


def test_what_a_key_created_has_the_limits_of_the_person_who_made_the_key(
    cast: Cast, broad: CostAccessLimit
) -> None:
    _key, client = mint(cast)
    create_mail_channel(cast.account, "ops@example.com", name="Ops")
    client.ask("create_alert_subscription", channel="Ops", trigger="digest", frequency="weekly")
    limit(cast, broad)

    with account_scope(cast.account):
        row = AlertSubscription.objects.get()
        assert [each.limit for each in CostAccessAssignment.objects.filter(alert_subscription=row)] == [broad]


def test_a_removed_members_keys_end_unless_they_are_handed_over(cast: Cast, broad: CostAccessLimit) -> None:
    admin, url = signed_in(cast.admin), f"{MEMBERS}{membership(cast).pk}/remove/"
    _key, client = mint(cast)
    page = get_page(admin, url)
    assert "MCP key (1): Notebook" in page
    assert "Hand over to" in page
    viewer = membership(cast, "viewer").pk
    assert admin.post(url, {"heir": viewer}).status_code == 422
    assert client.ask("getDataHealth")
    admin.post(url)

    assert status_of(client) == 401
    with account_scope(cast.account):
        entry = AuditEntry.objects.get(action="mcp_key.revoke")
    assert (entry.target, entry.detail["reason"]) == ("Notebook", "no longer a member")


def test_a_key_that_is_handed_over_gets_the_limit_of_the_heir(cast: Cast, broad: CostAccessLimit) -> None:
    key, client = mint(cast)
    limit(cast, broad, "both")
    amounts = [spend(client)]
    admin = signed_in(cast.admin)
    admin.post(f"{MEMBERS}{membership(cast).pk}/remove/", {"heir": membership(cast, "both").pk})
    amounts.append(spend(client))
    key.refresh_from_db()
    with account_scope(cast.account):
        entry = AuditEntry.objects.get(action="member.hand_over")

    assert amounts == [3108, 308]
    assert (key.created_by, key.created_by_label) == (cast.both, cast.both.email)
    assert (entry.target, entry.detail["to"]) == ("Notebook", cast.both.email)


def test_a_person_deprovisioned_by_scim_leaves_no_key(cast: Cast, bill: Account) -> None:
    scim = create_scim(cast.account)
    ann = scim.create_user("ann")
    person = Membership.objects.get(user__email="ann@example.com").user
    _key, plaintext = mint_mcp_key(
        account=cast.account, actor=Actor.of_user(person), name="Notebook", scope="read"
    )
    scim.patch(f"Users/{ann['id']}", {"op": "replace", "path": "active", "value": False})
    scim.patch(f"Users/{ann['id']}", {"op": "replace", "path": "active", "value": True})

    assert status_of(McpClient(plaintext)) == 401


def test_an_admin_who_leaves_leaves_no_key_and_sees_which_service_accounts_stay(
    cast: Cast, bill: Account
) -> None:
    create_service_account(account=cast.account, actor=Actor.of_user(cast.admin), name="CI")
    mint_mcp_key(account=cast.account, actor=Actor.of_user(cast.admin), name="Own", scope="read")
    client = signed_in(cast.admin)
    assert "Service account (1): CI" in get_page(client, f"{MEMBERS}{membership(cast, 'admin').pk}/remove/")
    client.post(f"{MEMBERS}{membership(cast, 'admin').pk}/remove/")

    with account_scope(cast.account):
        assert ServiceAccount.objects.get().name == "CI"
        assert MCPKey.objects.get().revoked_at is not None


def test_nobody_is_heir_of_another_account_or_of_oneself(cast: Cast, bill: Account) -> None:
    for heir in (
        membership(cast),
        Membership.objects.get(account=cast.other_account, user=cast.stranger),
        membership(cast, "viewer"),
    ):
        with pytest.raises(UserError):
            remove_member(membership=membership(cast), actor=ACTOR, heir=heir)
