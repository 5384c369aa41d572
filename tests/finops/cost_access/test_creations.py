"""What people make reads cost later without them: it never reads more than its person may, nor more than before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

import pytest
from django.apps import apps
from django.db import transaction
from django.db.models import ForeignKey
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.audit import Actor
from accounts.creations import Creation, creation_kinds
from accounts.keys import mint_mcp_key
from accounts.models import Account, MCPKey, Membership, OAuthApplication, OAuthConnection, Role, User
from accounts.oauth.service_accounts import create_service_account
from accounts.oauth.services import open_connection
from accounts.scoping import account_scope
from accounts.services import add_member, change_role, remove_member
from finops.alerts.models import AlertChannel, AlertSubscription
from finops.cost_access.creations import limit_creation
from finops.cost_access.models import CREATION_FIELDS, CostAccessLimit
from finops.cost_access.queries import limit_of_membership, limits_of_each
from finops.cost_access.readers import kind_labels
from finops.cost_access.resolution import access_of
from finops.cost_access.services import change_limit, create_limit, limit_member
from finops.costs.queries.spend import query_spend
from finops.costs.spend_query import CostFilter, SpendQuery
from finops.data_exports.models import DataExport
from finops.reports.models import ReportSchedule
from tests.cast import ACTOR, Cast
from tests.examples import examples
from tests.factories.costs import add_source, cost

SERVICES: Final = ("EC2", "S3", "RDS", "SQS")
DAY: Final = date(2026, 3, 10)
QUERY: Final = SpendQuery(start_date=DAY, end_date=DAY, group_by=["service"])

READ_AS_READER: Final = {
    "account.EmailAddress": "an address of the person",
    "accounts.AuditEntry": "no cost",
    "accounts.Account": "the offer of ownership, to be accepted",
    "accounts.Invitation": "has the limit of the person who accepts it",
    "accounts.Membership": "the person",
    "accounts.SecurityEvent": "no cost",
    "accounts.Session": "the person who is signed in",
    "accounts.OAuthGrant": "ends with its connection",
    "accounts.OAuthAccessToken": "of its connection",
    "accounts.OAuthRefreshToken": "of its connection",
    "accounts.OAuthApplication": "a client, which reads by a connection",
    "accounts.OAuthDeviceGrant": "not used",
    "accounts.OAuthIDToken": "not used",
    "admin.LogEntry": "no cost",
    "ai_spend.AiPrice": "prices",
    "alerts.EventSubscription": "has the cost access of its key or connection, and ends with a limit",
    "allocation.CostTag": "a rule, computed for each reader",
    "audit_webhooks.AuditWebhook": "sends the audit log; made by admins",
    "budgets.Budget": "computed for each reader; alerts of it are subscriptions",
    "change_events.EventKey": "writes only",
    "change_events.EventSource": "writes only",
    "change_events.ChangeEvent": "a note",
    "connections.CostConnection": "writes only",
    "connections.CostKey": "writes only",
    "connections.CostSync": "writes only",
    "cost_access.FormerMemberLimit": "the person",
    "cost_access.CostAccessAssignment": "the limits themselves",
    "costs.ClosedMonth": "read with the reader's access",
    "costs.ColumnMapping": "no cost",
    "costs.CostImport": "written once",
    "costs.CostSource": "writes only",
    "costs.InvoiceTotal": "read with the reader's access",
    "costs.SavedView": "computed for each reader; mails of it are subscriptions",
    "dashboards.Dashboard": "computed for each reader",
    "exchange_rates.ExchangeRate": "no cost",
    "ingestion.UsageKey": "writes only",
    "ingestion.UsageSource": "writes only",
    "ingestion.UsageUpload": "usage",
    "insights.Incident": "read with the reader's access",
    "insights.SavingsDismissal": "a note",
    "issues.IssueTracker": "issues are created by a signed-in person",
    "issues.SavingIssue": "written once, by a signed-in person",
    "mfa.Authenticator": "a second factor",
    "notifications.NotificationRead": "the person",
    "notifications.NotificationReader": "the person",
    "sso.Identity": "a sign-in",
    "sso.IdentityProvider": "has the limit of people whom it adds",
    "sso.ScimToken": "writes only",
    "sso.ScimUser": "the person",
}
"""Models with a person or credential that need no limit of their own, and why."""


@dataclass(frozen=True)
class Example:
    account: Account
    limits: list[CostAccessLimit]
    person: User
    other: User


def create_key(example: Example, user: User, name: str) -> MCPKey:
    return mint_mcp_key(account=example.account, actor=Actor.of_user(user), name=name)[0]


def connect(example: Example, user: User, name: str) -> OAuthConnection:
    application, _ = OAuthApplication.objects.get_or_create(
        client_id=name, client_type="public", authorization_grant_type="authorization-code"
    )
    return open_connection(
        user=user, account=example.account, application=application, access="read", redirect_uri=""
    )


def create_export(example: Example, user: User, name: str) -> DataExport:
    return DataExport.objects.create(
        account=example.account, name=name, destination="s3", external_id=name, created_by=user
    )


def add_channel(example: Example, user: User, name: str) -> AlertChannel:
    return AlertChannel.objects.create(account=example.account, name=name, kind="slack", created_by=user)


def subscribe(example: Example, user: User, name: str) -> AlertSubscription:
    channel = AlertChannel.objects.create(account=example.account, name=f"of {name}", kind="slack")
    return AlertSubscription.objects.create(
        account=example.account,
        channel=channel,
        trigger="digest",
        frequency="weekly",
        fingerprint=name,
        created_by=user,
    )


def schedule(example: Example, user: User, name: str) -> ReportSchedule:
    channel = AlertChannel.objects.create(account=example.account, name=f"of {name}", kind="email")
    return ReportSchedule.objects.create(account=example.account, channel=channel, day=5, created_by=user)


MAKERS: Final[dict[str, Callable[[Example, User, str], Any]]] = {
    "MCP key": create_key,
    "connected app": connect,
    "service account": lambda example, user, name: create_service_account(
        account=example.account, actor=Actor.of_user(user), name=name
    )[0],
    "data export": create_export,
    "alert channel": add_channel,
    "alert subscription": subscribe,
    "report schedule": schedule,
}


def test_every_kind_that_reads_without_its_person_has_limits() -> None:
    """A new model with a person, key or connection is registered with `add_creation_kind`, or named above with the reason."""
    persons = {User, MCPKey, OAuthConnection}
    models = {
        model._meta.label
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if isinstance(field, ForeignKey) and field.related_model in persons
    }
    kinds = {kind.model._meta.label for kind in creation_kinds.values()}

    assert models - kinds == set(READ_AS_READER)
    assert {kind.reader for kind in creation_kinds.values()} == set(CREATION_FIELDS)
    assert set(MAKERS) == set(creation_kinds)
    assert all(reverse(f"cost_access_{kind}", args=["acme", 1]) for kind in kind_labels())


@pytest.fixture
def example(acme: Account, cast: Cast) -> Example:
    add_source(acme, [cost(DAY, 2**place, service=name) for place, name in enumerate(SERVICES)])
    limits = [limit_to(acme, f"L{place}", set(SERVICES[place:])) for place in range(3)]
    return Example(acme, limits, cast.member, cast.both)


def alternatives(names: set[str]) -> list[list[CostFilter]]:
    return [[CostFilter(dimension="service", values=sorted(names))]]


def limit_to(account: Account, name: str, names: set[str]) -> CostAccessLimit:
    return create_limit(account=account, actor=ACTOR, name=name, alternatives=alternatives(names))


def seen(account: Account, limits: list[CostAccessLimit]) -> set[str]:
    """The services that a reader with the limits sees. Equal filters are read once, since the bill stays the same."""
    key = str(sorted(str(limit.alternatives) for limit in limits))
    if key not in _seen:
        with account_scope(account), access_of(account, limits):
            _seen[key] = {row.group["service"] for row in query_spend(account, QUERY).rows}
    return _seen[key]


_seen: dict[str, set[str]] = {}


def seen_by(account: Account, creations: Creation) -> set[str]:
    with account_scope(account):
        return seen(account, limits_of_each({creations.kind.reader: creations.reader_id}))


def seen_by_person(account: Account, user: User) -> set[str]:
    row = member(account, user)
    return seen(account, [limit] if (limit := limit_of_membership(row)) else [])


def member(account: Account, user: User) -> Membership:
    return Membership.objects.select_related("account", "user").get(account=account, user=user)


subsets = st.sets(st.sampled_from(SERVICES), min_size=1)
steps = st.one_of(
    st.tuples(st.just("make"), st.sampled_from(sorted(MAKERS))),
    st.tuples(st.just("limit"), st.sampled_from([None, 0, 1, 2])),
    st.tuples(st.just("role"), st.sampled_from(["viewer", "member", "admin"])),
    st.tuples(st.just("edit"), st.tuples(st.integers(0, 2), subsets)),
    st.tuples(st.just("hand over"), st.sampled_from([None, 0, 1, 2])),
    st.tuples(st.just("admin limits one"), st.sampled_from([None, 0, 1, 2])),
)


@contextmanager
def undone() -> Iterator[None]:
    """Undo what an example did."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60), deadline=None
)
@given(first=st.sets(st.sampled_from(sorted(MAKERS))), run=st.lists(steps, min_size=1, max_size=6))
def test_nothing_sees_more_than_its_person_nor_more_than_before(
    example: Example, first: set[str], run: list[tuple[str, Any]]
) -> None:
    with undone():
        account, person, other = example.account, example.person, example.other
        creations = [make(example, person, kind, place) for place, kind in enumerate(sorted(first))]
        before = {(each.kind.noun, each.row.pk): seen_by(account, each) for each in creations}
        for place, (step, choice) in enumerate(run, start=100):
            exempt = set()
            if step == "make":
                creations.append(make(example, person, choice, place))
            elif step == "limit" and member(account, person).role in ("viewer", "member"):
                limit = None if choice is None else example.limits[choice]
                limit_member(membership=member(account, person), limit=limit, actor=ACTOR)
            elif step == "role":
                change_role(membership=member(account, person), role=Role(choice), actor=ACTOR)
            elif step == "edit":
                limit = example.limits[choice[0]]
                change_limit(limit=limit, actor=ACTOR, name=limit.name, alternatives=alternatives(choice[1]))
            elif step == "hand over":
                person, other, creations = hand_over(example, person, other, creations, choice)
            elif step == "admin limits one" and creations:
                limit = None if choice is None else example.limits[choice]
                creations[0].row.account = account
                limit_creation(creation=creations[0], limit=limit, actor=ACTOR)
                exempt.add((creations[0].kind.noun, creations[0].row.pk))
            of_person = seen_by_person(account, person)
            for each in creations:
                name = (each.kind.noun, each.row.pk)
                now = seen_by(account, each)
                assert now <= of_person, (step, name)
                assert name in exempt or name not in before or now <= before[name], (step, name)
                before[name] = now


def make(example: Example, user: User, kind: str, place: int) -> Creation:
    with account_scope(example.account):
        return Creation(creation_kinds[kind], MAKERS[kind](example, user, f"thing-{place}"))


def hand_over(
    example: Example, person: User, other: User, creations: list[Creation], choice: int | None
) -> tuple[User, User, list[Creation]]:
    """The person leaves, and a member with or without a limit gets what she made, except apps; then she comes back."""
    account = example.account
    heir = member(account, other)
    if heir.role == "viewer":
        change_role(membership=heir, role=Role.MEMBER, actor=ACTOR)
    heir = member(account, other)
    if heir.role == "member":
        limit = None if choice is None else example.limits[choice]
        limit_member(membership=heir, limit=limit, actor=ACTOR)
    remove_member(membership=member(account, person), actor=ACTOR, heir=heir)
    add_member(account=account, user=person, role=Role.MEMBER, actor=ACTOR)
    still_there = [each for each in creations if each.kind.owner == "created_by"]
    for each in still_there:
        with account_scope(account):
            each.row.refresh_from_db()
        assert each.owner_id == other.pk
    return other, person, still_there
