"""What a loaded demo has, at its endpoints too, and what a later load or a person changes of it."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from django.conf import LazySettings
from django.test import Client, override_settings
from pytest_django import DjangoDbBlocker

from accounts.keys import authenticate_mcp_key
from accounts.models import Account, AuditEntry, MCPKey, Membership, Role, User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.activity.models import AssistantCall, CallOutcome
from finops.allocation.cost_tags.schemas import CostTagQuery
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tags import list_cost_tags, preview, query_cost_tag
from finops.allocation.services.cost_tags import draft_of
from finops.configuration.services import apply_configuration, export_configuration, plan_configuration
from finops.costs.models import CostImport, CostSource
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.demo.activity import FAILED_CALLS, SAMPLE_CALLS
from finops.demo.generate import write_source
from finops.demo.people import COLLEAGUES, EMAIL
from finops.demo.usage import SOURCE_NAME
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from finops.lib import clock
from finops.lib.money import exact_sum
from finops.unitcosts.models import CustomerAlias, CustomerKey
from ingestion.models import UsageKey, UsageSource
from ingestion.services import revoke_usage_key
from ingestion.services.keys import authenticate_usage_key
from mcpserver.registry import Tool, ToolAccess, registry
from tests import recordings
from tests.cast import signed_in
from tests.factories.module_scope import module_account
from tests.finops.demo.pages_of_demo import pages
from tests.finops.demo.test_load_demo import TODAY, URL, handout, load, own_var
from tests.finops.demo.test_usage import ACTOR, stored_quantities
from tests.interface.stored_bytes import json_columns, segments_text
from tests.isolation.rows import MAKERS
from tests.mcpserver.mcp_client import McpClient
from tests.page_structure import faults_of
from tests.pages import csv_rows

pytestmark = pytest.mark.slow

__all__ = ["own_var"]


@pytest.fixture(scope="module")
def month(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A month of the demo, loaded once; its `var/`."""
    var = tmp_path_factory.mktemp("demo")
    with module_account(django_db_blocker, var, TODAY), override_settings(PUBLIC_URL=URL):
        recordings.restart_ids()
        load()
        yield var


@pytest.fixture
def demo(month: Path, own_var: Path, db: None) -> Path:
    """The same with files of the test's own, so that what it writes is gone after it, as its rows are."""
    shutil.copytree(month, own_var, dirs_exist_ok=True)
    return own_var


@pytest.fixture
def demo_to_read(month: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch, db: None) -> Path:
    """The same files, for tests that write nothing."""
    settings.VAR_DIR, settings.LAKE_URL = month, str(month / "lake")
    # A machine that does other work too changes no answer.
    settings.LAKE_DEADLINE_SECONDS = 600
    monkeypatch.setattr("mcpserver.http_request.TOOL_SECONDS", 600.0)
    return month


def fingerprint() -> tuple[Any, ...]:
    return (
        list(User.objects.order_by("pk").values_list("pk", "password")),
        list(Membership.objects.order_by("pk").values_list("account__slug", "user__email", "role")),
        list(MCPKey.objects.unscoped().order_by("pk").values_list("pk", "revoked_at")),
        list(LakeSegment.objects.unscoped().order_by("pk").values_list("pk", "retired_at")),
        CostImport.objects.unscoped().count(),
        AuditEntry.objects.unscoped().count(),
    )


def test_the_lake_holds_what_the_generator_wrote(demo: Path) -> None:
    wrote = write_source("aws", demo / "again.parquet", date(2026, 11, 1), date(2026, 11, 19))
    raw = pq.read_table(wrote.path)
    with account_scope(Account.objects.get(slug="lumenly")):
        source = CostSource.objects.get(name="AWS")
        tables = [
            pq.read_table(demo / "lake" / segment.path)
            for segment in LakeSegment.objects.filter(kind=Kind.COST, source_id=source.pk, retired_at=None)
        ]
    assert sum(table.num_rows for table in tables) == wrote.rows
    for column, focus in (("billed_cost", "BilledCost"), ("effective_cost", "EffectiveCost")):
        total = sum((Decimal(pc.sum(table[column]).as_py()) for table in tables), Decimal(0))
        assert total == pc.sum(raw[focus]).as_py()
    actors = {actor for table in tables for actor in table["actor"].to_pylist()}
    assert any(actor and "terraform-ci" in actor for actor in actors)


def test_the_handout_is_private_and_its_credentials_work(demo: Path, client: Any) -> None:
    content = handout(demo)
    assert (demo / "demo.json").stat().st_mode & 0o777 == 0o600
    assert {name: content[name] for name in ("url", "mcp_url", "usage_url", "email", "account")} == {
        "url": "http://127.0.0.1:8123",
        "mcp_url": "http://127.0.0.1:8123/api/mcp",
        "usage_url": "http://127.0.0.1:8123/api/usage/events",
        "email": EMAIL,
        "account": "lumenly",
    }
    assert client.login(email=content["email"], password=content["password"])
    for field, scope in (("mcp_key_read", "read"), ("mcp_key_read_write", "read_write")):
        key = authenticate_mcp_key(content[field])
        assert key is not None
        assert (key.account.slug, key.scope) == ("lumenly", scope)


def test_the_demo_person_sees_two_accounts_and_has_colleagues_of_every_role(demo: Path) -> None:
    owned = Membership.objects.filter(user__email=EMAIL, role=Role.OWNER)
    assert {membership.account.slug for membership in owned} == {"lumenly", "lumenly-labs"}
    roles = Membership.objects.filter(account__slug="lumenly").values_list("role", flat=True)
    assert set(roles) == set(Role.values)
    with account_scope(Account.objects.get(slug="lumenly-labs")):
        assert LakeSegment.objects.count() == 1


def test_a_second_run_changes_nothing(demo: Path) -> None:
    before, handout_bytes = fingerprint(), (demo / "demo.json").read_bytes()
    output = load()
    assert fingerprint() == before
    assert (demo / "demo.json").read_bytes() == handout_bytes
    assert "0 cost lines imported" in output


def test_a_lost_file_gives_a_new_password_and_new_keys_and_ends_the_old_ones(demo: Path) -> None:
    old = handout(demo)
    (demo / "demo.json").unlink()
    load(if_empty=True)
    new = handout(demo)
    assert new["password"] != old["password"]
    assert not User.objects.get(email=EMAIL).check_password(old["password"])
    assert authenticate_mcp_key(old["mcp_key_read"]) is None
    assert authenticate_mcp_key(new["mcp_key_read"]) is not None


def test_a_revoked_key_is_minted_again_and_the_other_stays(demo: Path) -> None:
    old = handout(demo)
    MCPKey.objects.unscoped().filter(scope="read").update(revoked_at=TODAY)
    load(if_empty=True)
    new = handout(demo)
    assert new["mcp_key_read"] != old["mcp_key_read"]
    assert {**new, "mcp_key_read": ""} == {**old, "mcp_key_read": ""}


def test_another_address_moves_the_addresses_and_keeps_the_keys(demo: Path, settings: LazySettings) -> None:
    old = handout(demo)
    settings.PUBLIC_URL = "http://127.0.0.1:9000"
    load(if_empty=True)
    new = handout(demo)
    assert new["mcp_url"] == "http://127.0.0.1:9000/api/mcp"
    assert new["mcp_key_read"] == old["mcp_key_read"]
    assert new["password"] == old["password"]


def test_a_reset_begins_from_nothing(demo: Path) -> None:
    old = handout(demo)
    first = Account.objects.get(slug="lumenly").pk
    load(reset=True)
    assert Account.objects.get(slug="lumenly").pk != first
    assert User.objects.filter(email__in=[EMAIL, *COLLEAGUES]).count() == 1 + len(COLLEAGUES)
    assert authenticate_mcp_key(old["mcp_key_read"]) is None
    assert authenticate_mcp_key(handout(demo)["mcp_key_read"]) is not None


def test_the_key_in_the_handout_pushes_an_event_that_counts_at_once(demo: Path, client: Client) -> None:
    event = {
        "customer_id": "cust-001",
        "metric": "documents_processed",
        "quantity": 3,
        "timestamp": "2026-11-20T08:00:00Z",
    }
    content = handout(demo)
    answer = client.post(
        urlsplit(content["usage_url"]).path,
        {"events": [event]},
        "application/json",
        headers={"authorization": f"Bearer {content['usage_key']}"},
    )
    assert (answer.status_code, answer.json()) == (200, {"accepted": 1, "rejected": 0, "errors": []})
    account = Account.objects.get(slug="lumenly")
    today = date(2026, 11, 20)
    assert stored_quantities(account, today, today) == {("documents_processed", "cust-001"): 3}


def test_a_usage_key_that_ended_or_was_lost_is_made_again(demo: Path) -> None:
    old = handout(demo)["usage_key"]
    revoke_usage_key(source=UsageSource.objects.unscoped().get(name=SOURCE_NAME), actor=ACTOR)
    load(if_empty=True)
    second = handout(demo)["usage_key"]
    (demo / "demo.json").unlink()
    load(if_empty=True)
    third = handout(demo)["usage_key"]
    assert authenticate_usage_key(old) is None
    assert authenticate_usage_key(second) is None
    assert authenticate_usage_key(third) is not None
    assert UsageKey.objects.unscoped().filter(revoked_at=None).count() == 1


def test_a_chosen_customer_key_is_kept(demo: Path) -> None:
    CustomerKey.objects.unscoped().update(dimension="account")
    CustomerAlias.objects.unscoped().all().delete()
    load()
    assert CustomerKey.objects.unscoped().get().dimension == "account"
    assert not CustomerAlias.objects.unscoped().exists()


def test_each_call_of_the_demo_answers_as_its_activity_says(demo: Path) -> None:
    mcp_client = McpClient(handout(demo)["mcp_key_read"])
    account = Account.objects.get(slug="lumenly")

    with clock.frozen(TODAY):
        for sample in (*SAMPLE_CALLS, *FAILED_CALLS):
            answer = mcp_client.call(sample.tool, **sample.arguments)
            text = answer["content"][0]["text"]
            if sample.problem:
                assert answer["isError"], sample
                assert text.partition(". ")[0] == sample.problem.partition(". ")[0]
            else:
                assert not answer.get("isError"), text
                assert sample.page in answer["structuredContent"]["console_url"]

    with account_scope(account):
        calls = AssistantCall.objects.filter(at__lt=TODAY)
        wrong = calls.filter(outcome=CallOutcome.ERROR)
        assert 0 < wrong.count() < calls.count() / 10
        for name in set(wrong.values_list("name", flat=True)):
            assert calls.filter(name=name, outcome=CallOutcome.OK).exists(), f"{name} never answers"


@pytest.mark.usefixtures("demo")
def test_every_rule_of_the_demo_earns_its_place_and_values_add_up() -> None:
    account = Account.objects.get(slug="lumenly")
    with account_scope(account), clock.frozen(TODAY):
        assert {tag.key for tag in list_cost_tags(account)} >= {
            "environment",
            "customer",
            "cost-centre",
            "team",
        }
        whole = query_spend(account, SpendQuery(period="last_30_days"))
        for tag in CostTag.objects.all():
            answer = query_cost_tag(account, CostTagQuery(cost_tag=tag.key))
            for total in whole.totals:
                parts = [value.amount for value in answer.values if value.currency == total.currency]
                assert exact_sum(parts) == total.amount
            result = preview(account, draft_of(tag))
            assert not [rule.name for rule in result.rules if not rule.lines]


# The examples ask for more days than the month has.
MORE: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "explainSpendChange": [
        {
            "start_date": "2026-11-11",
            "end_date": "2026-11-18",
            "previous_start_date": "2026-11-03",
            "previous_end_date": "2026-11-10",
            "group_by": ["service", "account"],
        }
    ],
    "querySpend": [{"period": "this_month", "group_by": ["team"], "compare_to": "previous_period"}],
    "queryUnitCost": [{"usage_metric": "requests", "period": "this_month", "granularity": "day"}],
}


@pytest.mark.parametrize(
    "tool", [tool for tool in registry if tool.access is ToolAccess.READ], ids=lambda tool: tool.name
)
def test_the_answers_to_its_examples_are_those_recorded(demo_to_read: Path, tool: Tool) -> None:
    mcp_client = McpClient(handout(demo_to_read)["mcp_key_read"])
    recordings.compare(
        tool.name,
        [answer_to(mcp_client, tool, example) for example in [*tool.examples, *MORE.get(tool.name, ())]],
    )


def answer_to(mcp_client: McpClient, tool: Tool, example: Mapping[str, Any]) -> dict[str, Any]:
    result = mcp_client.result("tools/call", {"name": tool.name, "arguments": dict(example)})
    assert not result["isError"], result["content"][0]["text"]
    return {"arguments": example, "answer": msgspec.Raw(result["content"][0]["text"].encode())}


_AMOUNT = re.compile(r"([$€])[\d,]+\.\d\d")
_CODES = {"$": "USD", "€": "EUR"}


@pytest.mark.parametrize(
    ("tool", "rows"), [("listRecentEvents", "events"), ("listAlertDeliveries", "deliveries")]
)
def test_texts_with_amounts_have_their_currencies_beside_them(
    demo_to_read: Path, tool: str, rows: str
) -> None:
    answer = McpClient(handout(demo_to_read)["mcp_key_read"]).ask(tool, limit=50)

    with_amounts = 0
    for row in answer[rows]:
        codes = {_CODES[symbol] for symbol in _AMOUNT.findall(f"{row['title']} {row.get('text', '')}")}
        assert codes <= set(row.get("currency", "").split(", ")), row
        with_amounts += bool(codes)
    assert with_amounts > 3


def test_the_answers_of_tools_that_write_are_those_recorded(demo_to_read: Path) -> None:
    """Each after the one before: what is made is changed, then deleted."""
    mcp_client = McpClient(handout(demo_to_read)["mcp_key_read_write"])
    recordings.restart_ids(2 * recordings.FIRST_ID)
    dashboard = {"dashboard_id": 2 * recordings.FIRST_ID}
    calls: list[tuple[str, Mapping[str, Any]]] = [
        ("create_budget", {"name": "Walk", "amount": 100, "currency": "USD"}),
        ("create_budget", {"name": "Walk", "amount": 100, "currency": "USD"}),
        ("create_budget", {"name": "Team", "amount": 5000.5, "scope": "team", "value": "No such team"}),
        ("create_dashboard", {"name": "Walk", "widgets": [{"type": "total"}]}),
        ("create_dashboard", {"name": "Walk", "widgets": [{"type": "no"}]}),
        (
            "set_dashboard_widgets",
            {**dashboard, "widgets": [{"type": "spend_by", "config": {"group_by": "region"}}]},
        ),
        (
            "set_dashboard_widgets",
            {**dashboard, "widgets": [{"type": "total", "x": 11, "y": 0, "w": 3, "h": 3}]},
        ),
        ("delete_dashboard", dashboard),
        ("delete_dashboard", dashboard),
        ("create_alert_subscription", {"channel": CHANNEL, "trigger": "anomaly"}),
        ("create_alert_subscription", {"channel": CHANNEL, "trigger": "digest", "frequency": "monthly"}),
        ("create_alert_subscription", {"channel": "No such channel", "trigger": "anomaly"}),
    ]
    recordings.compare(
        "writes",
        [
            {
                "tool": tool,
                "arguments": arguments,
                **answer_or_error(mcp_client.call(tool, **arguments)),
            }
            for tool, arguments in calls
        ],
    )


def answer_or_error(result: Mapping[str, Any]) -> Mapping[str, Any]:
    if result["isError"]:
        return {"error": result["content"][0]["text"]}
    return {"answer": result["structuredContent"]}


CHANNEL = "FinOps"


@pytest.mark.usefixtures("demo_to_read")
def test_every_page_and_csv_is_well_formed() -> None:
    found = list(pages(Account.objects.get(slug="lumenly"), User.objects.get(email=EMAIL)))

    faults = {page.route: faults_of(page.text) for page in found if page.kind == "text/html"}
    tables = {
        page.route: list(csv.reader(page.text.splitlines())) for page in found if page.kind == "text/csv"
    }
    assert {route: each for route, each in faults.items() if each} == {}
    assert {
        route for route, lines in tables.items() if {len(line) for line in lines} != {len(lines[0])}
    } == set()
    assert {route for route, lines in tables.items() if len(set(lines[0])) != len(lines[0])} == set()
    assert len(faults) > 150
    assert len(tables) > 55


def test_the_csv_of_a_saved_view_has_the_total_of_its_query(demo_to_read: Path) -> None:
    view = MAKERS["saved_view_id"](Account.objects.get(slug="lumenly"))
    client = signed_in(User.objects.get(email=EMAIL))

    (row,) = csv_rows(client.get(f"/a/lumenly/cost-explorer/views/{view}/?period=last_30_days&format=csv"))

    assert (row["currency"], row["amount"]) == ("USD", "179516.601914791672000000")


def test_the_columns_of_files_are_those_recorded(demo_to_read: Path) -> None:
    recordings.compare_text("interface/segments.txt", segments_text(demo_to_read / "lake"))


def test_json_columns_are_as_recorded(demo_to_read: Path) -> None:
    recordings.compare_json("interface/json_columns.json", json_columns())


def test_the_configuration_of_the_demo_makes_an_empty_account_equal(demo_to_read: Path) -> None:
    account = Account.objects.get(slug="lumenly")
    owner = User.objects.create_user("empty@example.com", "a long enough secret")
    empty = create_account(name="Empty", owner=owner, slug="empty")
    kinds = ("teams", "cost_tags", "budgets")  # the others are of data that an empty account lacks
    text = export_configuration(account, kinds)
    with account_scope(account):
        names = list(CostSource.objects.values_list("name", flat=True))
    with account_scope(empty):
        # Sources are connections, with credentials: no configuration.
        for name in names:
            CostSource.objects.create(account=empty, name=name)

    apply_configuration(account=empty, actor=ACTOR, text=text)

    assert export_configuration(empty, kinds) == text
    assert plan_configuration(empty, text, delete=True) == []
    assert plan_configuration(account, text, delete=True) == []


def test_splits_unit_metrics_and_dashboards_of_the_demo_come_back_from_its_configuration(
    demo_to_read: Path,
) -> None:
    account = Account.objects.get(slug="lumenly")
    text = export_configuration(account)
    assert plan_configuration(account, text, delete=True) == []

    nothing = "version: 1\ndashboards: []\nsplits: []\nunit_metrics: []\n"
    deletion = apply_configuration(account=account, actor=ACTOR, text=nothing, delete=True)
    back = apply_configuration(account=account, actor=ACTOR, text=text)

    assert {each.kind for each in deletion} == {"splits", "unit_metrics", "dashboards"}
    assert [each.name for each in back] == [each.name for each in deletion]
    assert {each.action for each in back} == {"create"}
    assert export_configuration(account) == text
