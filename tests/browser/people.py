"""Rows for the browser tests, created inside the server's process."""

from __future__ import annotations

import random
import secrets
import time
import uuid
from datetime import date, timedelta
from decimal import Decimal

from allauth.account.authentication import AUTHENTICATION_METHODS_SESSION_KEY

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account, User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.allocation.models import CostTag, Team, TeamKey, TeamValue
from finops.allocation.rules import AllOf, AnyOf, Copy, Not, Rule, Test
from finops.allocation.services import cost_tags
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.splits import SplitDraft, create_split
from finops.change_events.models import ChangeEvent
from finops.connections.models import CostSync
from finops.connections.services import run_sync
from finops.costs.models import CostImport, CostSource
from finops.costs.services import delete_cost_source
from finops.costs.tasks import run_due_imports
from finops.dashboards.services import create_dashboard
from finops.dashboards.starters import draft as widget_draft
from finops.dashboards.starters import starter
from finops.dashboards.widgets import CATALOGUE
from finops.lib import clock
from finops.lib.periods import add_months, month_start
from finops.notifications.models import Notification
from finops.notifications.services import mark_all_read, notify
from finops.unitcosts.models import CustomerKey, UnitMetric
from ingestion.models import Customer
from tests.browser.alert_steps import make_alerts
from tests.browser.connection_rows import make_connections
from tests.cast import ACTOR, PASSWORD, make_cast, signed_in
from tests.factories.usage import add_metrics, event, push_events
from tests.finops.activity.call_helpers import ask_for_days
from tests.finops.lake.facts import line, store
from tests.periodic_tasks import run_due

SERVICES = [
    ("AWS", "Amazon Elastic Compute Cloud", "Compute", 410),
    ("AWS", "Amazon Relational Database Service", "Databases", 180),
    ("AWS", "Amazon Simple Storage Service", "Storage", 90),
    ("Google Cloud", "BigQuery", "Analytics", 130),
    (
        "Microsoft",
        "Azure Kubernetes Service for machine learning workloads of the research team",
        "Compute",
        75,
    ),
    ("OpenAI", "GPT API", "AI and Machine Learning", 60),
]


CUSTOMERS = [
    "globex",
    "initech-0b9f6a0e-5d1c-4f0e-9c53-7d3a1f2b4c5d-production",
    "株式会社",
    *(f"c-{n}" for n in range(9)),
]

OWNERS = [*CUSTOMERS[:5], "Globex", "a-tag-value-that-no-customer-has"]
"""Values of the customer tag of machines and databases."""


def delete_source(name: str) -> None:
    """Delete a source of Acme with its cost."""
    account = Account.objects.get(slug="acme")
    with account_scope(account):
        delete_cost_source(source=CostSource.objects.get(name=name), actor=ACTOR)


def add_accounts(count: int) -> None:
    """Create accounts that the viewer owns."""
    viewer = User.objects.get(email="viewer@example.com")
    for number in range(count):
        create_account(name=f"Branch {number}", owner=viewer)


def add_notification(name: str) -> None:
    """Notify of a failed sync of Acme, as the only unread notification of the person."""
    account = Account.objects.get(slug="acme")
    mark_all_read(account=account, user=User.objects.get(email=f"{name}@example.com"), until=clock.now())
    path = f"/a/{account.slug}/connections/"
    notify(
        account=account,
        kind=Notification.Kind.SYNC,
        title="Sync of AWS failed",
        path=path,
        key=uuid.uuid4().hex,
    )


def session(name: str) -> str:
    """Return the key of a session of a person who has just signed in with a password."""
    user = User.objects.get(email=f"{name}@example.com")
    client = signed_in(user)
    browser_session = client.session
    browser_session[AUTHENTICATION_METHODS_SESSION_KEY] = [
        {"method": "password", "at": time.time(), "email": user.email}
    ]
    browser_session["account_authentication_methods_user"] = str(user.pk)
    browser_session.save()
    return str(browser_session.session_key)


def cast() -> dict[str, str]:
    """Create the cast, without any cost."""
    people = make_cast()
    return {"slug": people.account.slug, "password": PASSWORD}


def cast_with_costs() -> dict[str, str]:
    """Create the cast, thirteen months of cost in two currencies with credits and tax, and two months of usage."""
    people = make_cast()
    with account_scope(people.account):
        source = CostSource.objects.create(name="Clouds")
    today = clock.today()
    for back in range(13):
        month = add_months(today, -back)
        store(people.account, _lines(month, today), source_id=source.pk, month=month)
    with account_scope(people.account):
        _push_usage(people.account, today)
        CustomerKey.objects.create(account=people.account, dimension="tag:customer")
        _make_team()
        _tag_costs(people.account)
        _share_costs(people.account)
        _make_board(people.account)
        ask_for_days(people.account)
        make_alerts(people.account)
        make_connections(people.account)
    return {"slug": people.account.slug, "password": PASSWORD}


def _tag_costs(account: Account) -> None:
    """Create a cost tag with a rule of each kind."""
    machine_learning = Test(dimension="service", op="contains", values=("machine learning", "GPT"))
    data = AnyOf((Test(dimension="service_category", values=("Databases", "Analytics")), machine_learning))
    create_cost_tag(
        account=account,
        actor=ACTOR,
        key="environment",
        description="Customer-facing and internal cost",
        default_value="shared",
        rules=[
            Rule(name="Data", when=AllOf((data, Not(Test(dimension="tag:env", op="absent")))), value="data"),
            Rule(copy=Copy(keys=("env",), normalise=("trim", "upper"), map=(("DEV", "development"),))),
            Rule(name="Nothing", when=Test(dimension="provider", values=("Nobody",)), value="nothing"),
        ],
    )


def _share_costs(account: Account) -> None:
    """Create a split of cost without a customer tag, by requests; and one with fixed shares, of which one has a very
    long name."""
    targets = [("Amazon Simple Storage Service", "33.333333"), (SERVICES[4][1], "66.666667")]
    for draft in (
        SplitDraft("Untagged by requests", "tag:customer", "(untagged)", "usage", (), True, "requests"),
        SplitDraft("Databases", "service", "Amazon Relational Database Service", "fixed", targets),
    ):
        create_split(account=account, actor=ACTOR, draft=draft)


def _make_board(account: Account) -> None:
    """Create a shared board with the spend overview and a table."""
    table = widget_draft("table", (0, 20, 12, 5), group_by=["service", "region"])
    create_dashboard(
        account=account,
        actor=ACTOR,
        name="Board",
        widgets=[table, *starter(account, "spend")],
    )


def board_of_every_widget() -> int:
    """Create a board with each type of widget in two sizes, the default and a quarter of the board's width. Return
    its id."""
    account = Account.objects.get(slug="acme")
    settings: dict[str, dict[str, str]] = {
        "unit_cost": {"unit_metric": "Cost per 1,000 requests"},
        "cost_tag_breakdown": {"cost_tag": "environment"},
        "text": {"text": "Reviewed on Mondays.\n\nhttps://example.com/a-long-address-without-a-space-in-it"},
    }
    widgets, y = [], 0
    for kind in CATALOGUE.values():
        own = settings.get(kind.name, {})
        small = widget_draft(kind.name, (0, y, 3, 4), f"Small {kind.title.lower()}", **own)
        large = widget_draft(kind.name, (3, y, min(kind.width, 9), kind.height), kind.title, **own)
        widgets += [small, large]
        y += max(4, kind.height)
    with account_scope(account):
        return create_dashboard(account=account, actor=ACTOR, name="Every widget", widgets=widgets).pk


def _make_team() -> None:
    """Create a team that owns a customer's cost, and a saved unit metric."""
    TeamKey.objects.create(dimension="tag:customer")
    team = Team.objects.create(name="Core", description="Everything that all others stand on")
    TeamValue.objects.create(team=team, value=CUSTOMERS[0])
    UnitMetric.objects.create(name="Cost per 1,000 requests", usage_metric="requests", per=1_000)


def _push_usage(account: Account, today: date) -> None:
    """Push requests and seats of a dozen customers, in two units."""
    chance = random.Random(7)
    pushed = []
    for back in range(60):
        day = today - timedelta(days=back)
        for number, customer in enumerate(CUSTOMERS):
            calls = round(900 / (number + 1) * chance.uniform(0.7, 1.3))
            region = {"region": chance.choice(["eu", "us", "ap"])}
            pushed.append(event(day, customer, calls, unit="call", dimensions=region))
            pushed.append(event(day, customer, 40 - 3 * number, metric="seats", unit="seat"))
    pushed.append(event(today, CUSTOMERS[0], "1.5", unit="k calls"))
    add_metrics(account, pushed, seats="average_of_days")
    push_events(account, pushed)
    Customer.objects.filter(customer_id=CUSTOMERS[0]).update(
        name="Globex Gesellschaft für Weltherrschaft und Maschinenbau mit beschränkter Haftung"
    )


def _lines(month: date, today: date) -> list[dict[str, object]]:
    chance = random.Random(month.isoformat())
    rows: list[dict[str, object]] = []
    day = month_start(month)
    while day < min(add_months(month, 1), today):
        for place, (provider, service, category, size) in enumerate(SERVICES):
            cost = Decimal(str(round(size * chance.uniform(0.8, 1.25), 4)))
            tags = {"env": chance.choice(["prod", "dev"])} if chance.random() < 0.8 else {}
            tags |= {"customer": OWNERS[day.day % len(OWNERS)]} if place < 2 else {}
            rows.append(
                line(
                    day,
                    cost,
                    source=str(month.year),
                    provider=provider,
                    service=service,
                    service_category=category,
                    region=chance.choice(["eu-west-1", "us-east-1"]),
                    charge_category="Usage",
                    tags=tags,
                )
            )
        day += timedelta(days=1)
    if rows:
        rows.append(
            line(
                month_start(month), "-250.5", provider="AWS", service="AWS Credits", charge_category="Credit"
            )
        )
        rows.append(line(month_start(month), "512.25", provider="AWS", service="Tax", charge_category="Tax"))
        rows.append(
            line(
                month_start(month),
                "333.1",
                provider="Hetzner",
                service="Servers",
                charge_category="Usage",
                currency="EUR",
            )
        )
    return rows


def cost_tag() -> int:
    """Create a cost tag with three rules, of which the second matches no line that the first leaves."""
    account = Account.objects.get(slug="acme")
    provider = Test(dimension="provider", values=("AWS",))
    machines = Test(dimension="service", values=("Amazon Elastic Compute Cloud",))
    google = Test(dimension="provider", values=("Google Cloud",))
    with account_scope(account):
        CostTag.objects.filter(key__startswith="cloud ").delete()
        return create_cost_tag(
            account=account,
            actor=ACTOR,
            key=f"cloud {secrets.token_hex(4)}",
            rules=[
                Rule(when=provider, value="aws"),
                Rule(when=machines, value="machines"),
                Rule(when=google, value="google", name="Google"),
            ],
        ).pk


def save_cost_tag(cost_tag_id: int) -> int:
    """Save the cost tag as another person, while a test edits it."""
    account = Account.objects.get(slug="acme")
    owner = User.objects.get(email="owner@example.com")
    with account_scope(account):
        row = CostTag.objects.get(pk=cost_tag_id)
        draft = cost_tags.draft_of(row)
        return cost_tags.save_cost_tag(
            cost_tag=row,
            actor=Actor.of_user(owner),
            version=row.version,
            rules=draft.rules[:2],
            default_value="rest",
            description="",
        ).version


def run_imports() -> list[str]:
    """Run due imports, as a worker does."""
    run_due(run_due_imports)
    return [job.status for job in CostImport.objects.unscoped()]


def run_syncs() -> list[str]:
    """Run queued syncs, as a worker does."""
    for sync in CostSync.objects.unscoped().filter(status="queued"):
        run_sync(sync.pk)
    return [sync.status for sync in CostSync.objects.unscoped()]


def mcp_key() -> str:
    """Return a Read/write key to Acme."""
    acme = Account.objects.get(slug="acme")
    return mint_mcp_key(account=acme, actor=ACTOR, name="host", scope="read_write")[1]


def add_change_event(title: str, days_ago: int) -> None:
    """Create a change event for a deployment of Acme."""
    account = Account.objects.get(slug="acme")
    with account_scope(account):
        ChangeEvent.objects.create(
            account=account,
            origin="note",
            kind="deployment",
            title=title,
            occurred_at=clock.now() - timedelta(days=days_ago),
        )
