"""What assistants were told wrongly once: each case on a small made-up account, its figures added up by hand."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.models import SharedCostSplit
from finops.allocation.rules import read_rules
from finops.allocation.services.cost_tags import create_cost_tag
from finops.allocation.services.teams import create_team, own_value, set_team_key
from finops.costs.models import CostSource
from finops.insights.models import Anomaly
from finops.lib import clock
from finops.unitcosts.models import CustomerAlias, CustomerKey
from finops.unitcosts.services.usage_dimensions import map_usage_dimension
from ingestion.models import Customer
from tests.cast import Cast, signed_in
from tests.finops.costs.rows import Line, add_source, cost
from tests.ingestion.events import event, know, source_of, store
from tests.mcpserver.door import Door, mint

NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)
WEEK = {"start_date": "2026-03-11", "end_date": "2026-03-17"}


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    with clock.frozen(NOON), account_scope(cast.account):
        yield cast.account


@pytest.fixture
def ask(cast: Cast) -> Door:
    return Door(mint(cast, "read_write"))


def answer_of(door: Door, tool: str, /, **arguments: Any) -> dict[str, Any]:
    result = door.call(tool, **arguments)
    assert not result["isError"], result["content"][0]["text"]
    answer: dict[str, Any] = result["structuredContent"]
    return answer


def days(count: int) -> list[date]:
    """So many days, the last one yesterday."""
    return [clock.today() - timedelta(days=back) for back in range(count, 0, -1)]


def test_below_zero_the_largest_by_size_stands_with_its_sign(acme: Account, ask: Door) -> None:
    day = clock.today() - timedelta(days=2)
    add_source(
        acme,
        [
            cost(day, 5, service="Claude API"),
            cost(day, 90, service="Compute"),
            cost(day, -400, service="Compute credits", charge_category="Credit"),
            cost(day, 3, service="Mail", currency="EUR"),
        ],
    )

    said = answer_of(ask, "querySpend", **WEEK, group_by=["service"])["summary"]

    assert "the largest parts are Compute credits (-400.00 USD) and Compute (90.00 USD)" in said
    assert "most of EUR on Mail (100.0 %)" in said
    assert "most of USD" not in said


def an_anomaly(account: Account, source: CostSource, service: str, impact: int, at: date) -> None:
    Anomaly.objects.create(
        account=account,
        source=source,
        key=f"anom_{service}",
        value=service,
        currency="USD",
        kind="spike",
        severity="high",
        first_day=at,
        last_day=at,
        actual=Decimal(impact + 10),
        expected=Decimal(10),
        impact=Decimal(impact),
        month_end_impact=Decimal(impact),
    )


def test_beside_a_filtered_change_stand_anomalies_of_what_the_filters_hold(acme: Account, ask: Door) -> None:
    def day_of(day: date, spike: bool) -> list[Line]:
        more = 90 if spike else 0
        return [
            cost(day, 10 + more, service="Virtual Machines", provider="Azure", region="westeurope"),
            cost(day, 8 + more, service="EC2", provider="AWS", region="eu-west-1"),
            cost(day, 2, service="EC2", provider="AWS", region="us-east-1"),
        ]

    spiked = clock.today() - timedelta(days=3)
    source = add_source(acme, [line for day in days(60) for line in day_of(day, day == spiked)])
    add_source(acme, [cost(spiked, 1, service="Maps", provider="Google")], name="Google bill")
    an_anomaly(acme, source, "Virtual Machines", 90, spiked)
    an_anomaly(acme, source, "EC2", 90, spiked)

    def beside(**filters: str) -> list[str]:
        given = [{"dimension": name, "values": [value]} for name, value in filters.items()]
        answer = answer_of(ask, "explainSpendChange", period="last_7_days", filters=given)
        return [each["what"].split(" of ")[0] for each in answer["beside"]]

    assert sorted(beside()) == [
        "EC2",
        "Source 'Google bill' has its first cost line; all",
        "Virtual Machines",
    ]
    assert beside(provider="AWS") == ["EC2"]
    assert beside(region="eu-west-1") == ["EC2"]
    assert beside(region="us-east-1") == []
    assert beside(provider="Google") == ["Source 'Google bill' has its first cost line; all"]


def test_a_budget_is_in_whole_currency_units(acme: Account, ask: Door) -> None:
    tools = {tool["name"]: tool for tool in ask.result("tools/list")["tools"]}
    said = tools["create_budget"]["inputSchema"]["properties"]["amount"]["description"]

    made = answer_of(ask, "create_budget", name="Core", amount="1500.50", currency="USD")

    assert "whole currency units: 1500.50 is 1,500.50 USD" in said
    assert made["budget"]["amount"] == 1500.5


def test_what_exists_already_is_named_with_the_page_that_changes_it(acme: Account, ask: Door) -> None:
    page = "http://127.0.0.1:8000/a/acme"
    budget = answer_of(ask, "create_budget", name="Core", amount=100, currency="USD")["budget"]["id"]
    board = answer_of(ask, "create_dashboard", name="Weekly")["dashboard"]["id"]

    taken = ask.problem("create_budget", name="core", amount=200, currency="USD")
    drawn = ask.problem("create_dashboard", name="weekly")
    unknown = ask.error("tools/call", {"name": "update_budget", "arguments": {}})

    assert f"exists already, with id {budget}" in taken
    assert taken.endswith(f"Its page: {page}/budgets/{budget}/")
    assert drawn.endswith(f"Its page: {page}/dashboards/{board}/")
    assert "on their pages in the console" in unknown["message"]


@pytest.fixture
def regions(acme: Account) -> Account:
    """1,000 USD in the EU and 3,000 in the US for 10 and 90 requests; customers globex (also as Globex Inc) and acme."""
    day = clock.today() - timedelta(days=2)
    add_source(
        acme,
        [
            cost(
                day,
                700,
                region="eu",
                service="Compute",
                tags={"customer": "globex", "market": "eu", "zone": "west"},
            ),
            cost(
                day,
                300,
                region="eu",
                service="Disk",
                tags={"customer": "Globex Inc", "market": "eu", "zone": "west"},
            ),
            cost(
                day,
                3000,
                region="us",
                service="Compute",
                tags={"customer": "acme", "market": "us", "zone": "east"},
            ),
        ],
    )
    used = [("globex", 10, "eu"), ("acme", 90, "us")]
    events = [
        event(day, customer, quantity, position=at, dimensions={"region": region})
        for at, (customer, quantity, region) in enumerate(used)
    ]
    know(acme, events)
    store(acme, events, source=source_of(acme))
    CustomerKey.objects.create(account=acme, dimension="tag:customer")
    Customer.objects.filter(customer_id="globex").update(name="Globex Corporation")
    CustomerAlias.objects.create(account=acme, value="Globex Inc", customer_id="globex")
    return acme


def unit_cost(door: Door, *filters: tuple[str, str], **more: Any) -> dict[str, Any]:
    given = [{"dimension": name, "values": [value]} for name, value in filters]
    return answer_of(door, "queryUnitCost", **{"usage_metric": "requests", **WEEK, "filters": given, **more})


@pytest.mark.parametrize(
    ("name", "value", "cost_", "usage", "by"),
    [
        ("region", "EU", 1000, 10, "dimension:region"),
        ("tag:customer", "acme", 3000, 90, "customer"),
        ("tag:market", "us", 3000, 90, "dimension:region"),
    ],
)
def test_a_filter_that_usage_has_too_divides_by_the_usage_that_it_holds(
    regions: Account, cast: Cast, ask: Door, name: str, value: str, cost_: int, usage: int, by: str
) -> None:
    mapped = {"cost_dimension": "tag:market", "usage_dimension": "region"}
    map_usage_dimension(account=regions, actor=cast.actor, **mapped)

    answer = unit_cost(ask, (name, value))

    (total,) = answer["totals"]
    assert (total["cost"], total["usage"]) == (cost_, usage)
    assert total["unit_cost"] == pytest.approx(cost_ / usage, abs=1e-6)
    assert [each["dimension"] for each in answer["usage_filters_applied"]] == [by]
    assert answer["unfiltered_dimensions"] == []
    assert f"usage filtered by {by.removeprefix('dimension:')}" in answer["summary"].split(". ")[0]


@pytest.mark.usefixtures("regions")
def test_a_filter_that_usage_lacks_is_said_in_the_first_sentence(ask: Door) -> None:
    alone = unit_cost(ask, ("service", "Compute"))
    both = unit_cost(ask, ("service", "Disk"), ("region", "eu"))

    assert alone["totals"][0]["unit_cost"] == 37
    assert alone["unfiltered_dimensions"] == ["service"]
    assert (
        "only the cost is filtered by service, the usage is all of requests"
        in alone["summary"].split(": ")[0]
    )
    assert both["totals"][0]["unit_cost"] == 30
    assert "usage filtered by region, not by service as the cost is" in both["summary"].split(": ")[0]


@pytest.mark.usefixtures("regions")
def test_usage_is_filtered_by_itself_and_a_key_that_no_event_has_is_refused(cast: Cast, ask: Door) -> None:
    eu = [{"dimension": "region", "values": ["eu"]}]
    answer = unit_cost(ask, usage_filters=eu)
    nobody = unit_cost(ask, usage_filters=[{"dimension": "customer", "values": ["Globex Corporation"]}])
    none = unit_cost(ask, usage_filters=[{"dimension": "region", "values": ["mars"]}])
    refused = ask.problem(
        "queryUnitCost", usage_metric="requests", usage_filters=[{"dimension": "regoin", "values": ["eu"]}]
    )

    assert answer["totals"][0]["unit_cost"] == 400
    assert "u0=region" in answer["console_url"]
    assert nobody["totals"][0]["usage"] == 10
    assert none["totals"][0]["unit_cost"] is None
    assert "No usage event of these days has region 'mars'" in none["summary"]
    assert "usage_filters: 'regoin' is not known. Nearest: region" in refused
    page = signed_in(cast.viewer).get(answer["console_url"].removeprefix("http://127.0.0.1:8000"))
    assert "usage filtered by region" in page.content.decode()
    assert 'name="u0v"' in page.content.decode()


def test_values_that_usage_does_not_have_give_no_unit_cost_but_the_reason(
    regions: Account, cast: Cast, ask: Door
) -> None:
    page = signed_in(cast.member)
    page.post(
        "/a/acme/settings/customers/usage-dimensions/",
        {"cost_dimension": "tag:zone", "usage_dimension": "region"},
    )

    answer = unit_cost(ask, ("tag:zone", "east"))
    given = unit_cost(ask, ("tag:zone", "east"), usage_filters=[{"dimension": "region", "values": ["US"]}])

    assert answer["totals"][0]["unit_cost"] is None
    assert "no usage of 'requests' in these days has such a region; it has eu and us" in answer["summary"]
    assert (given["totals"][0]["cost"], given["totals"][0]["usage"]) == (3000, 90)
    assert given["unfiltered_dimensions"] == []
    assert "tag:zone" in page.get("/a/acme/settings/customers/").content.decode()


@pytest.fixture
def halden(acme: Account) -> Account:
    """Halden Freight (c-7, in one bill as HF Ltd) has 60 + 40 USD; 300 USD and 50 EUR are shared with c-8, half each."""
    day = clock.today() - timedelta(days=2)
    lines = [
        ("c-7", 60, "USD"),
        ("HF Ltd", 40, "USD"),
        ("c-8", 7, "USD"),
        ("shared", 300, "USD"),
        ("shared", 50, "EUR"),
    ]
    add_source(
        acme,
        [cost(day, amount, currency=currency, tags={"customer": value}) for value, amount, currency in lines],
    )
    CustomerKey.objects.create(account=acme, dimension="tag:customer")
    CustomerAlias.objects.create(account=acme, value="HF Ltd", customer_id="c-7")
    Customer.objects.create(account=acme, customer_id="c-7", name="Halden Freight")
    Customer.objects.create(account=acme, customer_id="c-8", name="Other")
    SharedCostSplit.objects.create(
        account=acme,
        name="Cluster",
        dimension="tag:customer",
        source_value="shared",
        method="even",
        targets=[{"value": "c-7", "percent": None}, {"value": "c-8", "percent": None}],
    )
    return acme


def spent_on(door: Door, dimension: str, *values: str, **more: Any) -> dict[str, Any]:
    filters = [{"dimension": dimension, "values": list(values)}]
    return answer_of(door, "querySpend", **{**WEEK, "filters": filters, **more})


@pytest.mark.usefixtures("halden")
@pytest.mark.parametrize(
    ("dimension", "name"),
    [
        ("customer", "halden freight"),
        ("customer", "HF Ltd"),
        ("customer", "c-7"),
        ("tag:customer", "Halden Freight"),
    ],
)
def test_what_a_customer_costs_is_asked_by_name_and_says_what_splits_would_add(
    ask: Door, dimension: str, name: str
) -> None:
    answer = spent_on(ask, dimension, name)
    after = spent_on(ask, dimension, name, splits="after")

    assert [(each["amount"], each["currency"]) for each in answer["totals"]] == [(100, "USD")]
    first = answer["summary"].split(". ")[0]
    assert "100.00 USD" in first
    assert "after shared-cost splits (splits: after) it is 250.00 USD and 25.00 EUR" in first
    assert [(each["amount"], each["currency"]) for each in after["totals"]] == [(250, "USD"), (25, "EUR")]
    assert "(splits: after)" not in after["summary"]


@pytest.mark.usefixtures("halden")
def test_cost_by_customer_needs_no_usage_and_has_names(ask: Door) -> None:
    answer = answer_of(ask, "querySpend", **WEEK, group_by=["customer"])
    by_tag = answer_of(ask, "querySpend", **WEEK, group_by=["tag:customer"])
    values = answer_of(ask, "listDimensionValues", dimension="customer", search="halden")
    spelled = answer_of(ask, "listDimensionValues", dimension="tag:customer", search="freight")
    without = ask.problem("queryUnitCost", mode="per_customer")
    part = answer_of(
        ask, "querySpend", **WEEK, filters=[{"dimension": "customer", "op": "contains", "values": ["alde"]}]
    )

    rows = {row["group"]["customer"]: row for row in answer["rows"] if row["currency"] == "USD"}
    assert {name: row["amount"] for name, row in rows.items()} == {"shared": 300, "c-7": 100, "c-8": 7}
    assert rows["c-7"]["labels"] == {"customer": "Halden Freight"}
    assert "Halden Freight (24.6 %)" in answer["summary"]
    assert {
        row["group"]["tag:customer"]: row["labels"]["tag:customer"]
        for row in by_tag["rows"]
        if "labels" in row
    } == {
        "c-7": "Halden Freight",
        "HF Ltd": "Halden Freight",
        "c-8": "Other",
    }
    assert [(each["value"], each["label"]) for each in values["values"]] == [("c-7", "Halden Freight")]
    assert sorted(each["value"] for each in spelled["values"]) == ["HF Ltd", "c-7"]
    assert "querySpend with group_by customer" in without
    assert part["totals"][0]["amount"] == 100


@pytest.mark.usefixtures("halden")
def test_a_value_that_no_cost_has_is_refused_with_the_nearest(ask: Door) -> None:
    def refused(dimension: str, value: str) -> str:
        return ask.problem("querySpend", **WEEK, filters=[{"dimension": dimension, "values": [value]}])

    assert "no cost line of any day has tag:customer 'c-77'. Nearest: c-7" in refused("tag:customer", "c-77")
    assert "no cost line of any day has customer 'Halden Frieght'" in refused("customer", "Halden Frieght")
    assert "no cost line of any day has currency 'GBP'. These days have: EUR, USD" in refused(
        "currency", "GBP"
    )
    other_days = answer_of(
        ask,
        "querySpend",
        start_date="2026-03-17",
        end_date="2026-03-17",
        filters=[{"dimension": "tag:customer", "values": ["c-7"]}],
    )
    assert other_days["totals"] == []
    some = spent_on(ask, "tag:customer", "c-8", "c-9")
    assert (some["totals"][0]["amount"], len(some["warnings"]) > 0) == (7, True)


def test_group_by_project_says_what_it_was_taken_for(acme: Account, ask: Door) -> None:
    add_source(
        acme, [cost(clock.today() - timedelta(days=2), 5, account_id="p-1", tags={"project": "apollo"})]
    )

    answer = answer_of(ask, "querySpend", **WEEK, group_by=["project"])

    assert answer["group_by"] == ["account"]
    assert any(
        "'project' was taken for account" in each and "tag:project is the tag" in each
        for each in answer["warnings"]
    )


def a_day_of_environments() -> list[Line]:
    day = clock.today() - timedelta(days=2)
    return [
        cost(day, 100, tags={"env": "production"}),
        cost(day, 700, tags={"Environment": "prod"}),
        cost(day, 30, tags={"env": "PRD"}),
        cost(day, 20, tags={"env": "Prod", "Environment": "Production"}),
        cost(day, 9, tags={"Environment": "Production"}, currency="EUR"),
        cost(day, 50, tags={"Environment": "staging"}),
        cost(day, 4, tags={"env": "nonprod"}),
        cost(day, 60, account_id="live"),
        cost(day, 11, service="Mail", tags={"Environment": "prod"}),
        cost(day, 3, service="Mail"),
    ]


ENVIRONMENT_RULES = [
    {
        "copy": {
            "keys": ["env", "Environment"],
            "normalise": ["lower"],
            "map": {"prod": "production", "prd": "production"},
        }
    },
    {"when": {"dimension": "account", "values": ["live"]}, "value": "production"},
]


def test_other_spellings_and_what_covers_them_stand_beside_a_tag(
    acme: Account, cast: Cast, ask: Door
) -> None:
    add_source(acme, a_day_of_environments())
    create_cost_tag(account=acme, actor=cast.actor, key="environment", rules=read_rules(ENVIRONMENT_RULES))
    set_team_key(account=acme, actor=cast.actor, dimension="tag:env")
    team = create_team(account=acme, actor=cast.actor, name="Platform")
    own_value(team=team, actor=cast.actor, value="prd")

    def asked(value: str, **other: str) -> dict[str, Any]:
        filters = [{"dimension": "tag:env", "values": [value]}]
        filters += [{"dimension": name, "values": [each]} for name, each in other.items()]
        return answer_of(ask, "querySpend", **WEEK, filters=filters)

    whole = asked("production")
    assert whole["totals"][0]["amount"] == 100
    assert (
        "not in it: 761.00 USD and 9.00 EUR under other spellings "
        "(tag:Environment = prod 711.00 USD, tag:env = PRD 30.00 USD and 2 more)" in whole["summary"]
    )
    assert "cost tag environment = production 921.00 USD and 9.00 EUR" in whole["summary"]
    assert (
        "tag:env = production leaves out 761.00 USD and 9.00 EUR under other spellings: tag:Environment = prod 711.00 USD, "
        "tag:env = PRD 30.00 USD, tag:env = Prod 20.00 USD, tag:Environment = Production 9.00 EUR."
    ) in whole["warnings"]
    assert "Beside tag:env = production: team = Platform 30.00 USD." in whole["warnings"]
    mail = asked("prd", service="Mail")
    assert (
        "; not in it: 11.00 USD under other spellings (tag:Environment = prod 11.00 USD)" in mail["summary"]
    )

    refused = ask.problem("querySpend", **WEEK, filters=[{"dimension": "tag:Environment", "values": ["prd"]}])
    assert (
        "tag:Environment = prd leaves out 861.00 USD and 9.00 EUR under other spellings: tag:Environment = prod 711.00 USD, "
        "tag:env = production 100.00 USD, tag:env = PRD 30.00 USD, "
        "tag:Environment = Production 20.00 USD and 9.00 EUR." in refused
    )


@pytest.mark.parametrize(
    ("op", "value", "said"),
    [
        (
            "not_in",
            "production",
            "tag:env not production keeps 761.00 USD and 9.00 EUR under other spellings",
        ),
        ("contains", "rod", "tag:env containing rod leaves out 711.00 USD and 9.00 EUR under other"),
        ("absent", "", "761.00 USD and 9.00 EUR without tag:env has keys that mean the same"),
    ],
)
def test_other_operators_name_other_spellings(
    acme: Account, ask: Door, op: str, value: str, said: str
) -> None:
    add_source(acme, a_day_of_environments())
    values = [value] if value else []

    answer = answer_of(
        ask, "querySpend", **WEEK, filters=[{"dimension": "tag:env", "op": op, "values": values}]
    )

    assert any(each.startswith(said) for each in answer["warnings"])


def test_other_keys_stand_beside_groups_of_a_tag(acme: Account, ask: Door) -> None:
    add_source(acme, a_day_of_environments())

    answer = answer_of(ask, "querySpend", **WEEK, group_by=["tag:env"])

    assert (
        "761.00 USD and 9.00 EUR without tag:env has keys that mean the same: tag:Environment "
        "761.00 USD and 9.00 EUR." in answer["warnings"]
    )
    assert "without tag:env has it under other keys (tag:Environment" in answer["summary"]
    assert "tag:env PRD, Prod and production may mean the same: together 150.00 USD." in answer["warnings"]


def test_untagged_no_team_and_a_default_value_name_each_other(acme: Account, cast: Cast, ask: Door) -> None:
    add_source(acme, a_day_of_environments())
    create_cost_tag(
        account=acme,
        actor=cast.actor,
        key="environment",
        rules=read_rules(ENVIRONMENT_RULES),
        default_value="Not assigned",
    )
    set_team_key(account=acme, actor=cast.actor, dimension="tag:env")
    own_value(
        team=create_team(account=acme, actor=cast.actor, name="Platform"),
        actor=cast.actor,
        value="production",
    )

    def beside(dimension: str, value: str) -> list[str]:
        answer = answer_of(ask, "querySpend", **WEEK, filters=[{"dimension": dimension, "values": [value]}])
        return [each for each in answer["warnings"] if each.startswith("Beside ")]

    untagged = "tag:env = (untagged) 824.00 USD and 9.00 EUR."
    no_team = "team = (no team) 878.00 USD and 9.00 EUR."
    default = "cost tag environment = Not assigned 3.00 USD."
    filters = [{"dimension": "tag:env", "values": ["(untagged)"]}]
    assert (
        "; 761.00 USD and 9.00 EUR without tag:env has it under other keys (tag:Environment 761.00 USD and 9.00 EUR)"
        in answer_of(ask, "querySpend", **WEEK, filters=filters)["summary"]
    )
    assert beside("tag:env", "(untagged)") == [
        f"Beside tag:env = (untagged): {no_team}",
        f"Beside tag:env = (untagged): {default}",
    ]
    assert beside("team", "(no team)") == [
        f"Beside team = (no team): {untagged}",
        f"Beside team = (no team): {default}",
    ]
    assert {f"Beside cost_tag:environment = (untagged): {each}" for each in (untagged, no_team)} <= set(
        beside("cost_tag:environment", "Not assigned")
    )
