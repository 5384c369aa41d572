"""Spend by a cost tag of 100 rules against the same question by a plain tag, and without any: ratios of one run.

python -m benchmarks cost_tag                                     # 1.2 million lines of a year
BENCH_COST_TAG_LINES=12_000_000 python -m benchmarks cost_tag     # as issue 6 says
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import date
from functools import partial
from time import perf_counter
from typing import Any

from django.conf import settings

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks import lake_data
from benchmarks.table import Row, timings
from finops.allocation.rules import read_rules
from finops.allocation.services.cost_tags import create_cost_tag
from finops.costs.queries import query_spend
from finops.costs.queries.cost_sums import read_costs
from finops.costs.spend_query import SpendQuery

LINES = int(os.environ.get("BENCH_COST_TAG_LINES", "1_200_000"))
TURNS = int(os.environ.get("BENCH_COST_TAG_TURNS", "5"))
YEAR: dict[str, Any] = {"start_date": date(2025, 1, 1), "end_date": date(2025, 12, 31)}
RULES = 100


def measure() -> list[Row]:
    settings.LAKE_ANSWERS_BYTES = 0  # each turn is run
    settings.LAKE_DEADLINE_SECONDS = 600  # a busy machine shall not end it
    lake_data.LINES_A_MONTH = LINES // 12
    account = Account.objects.create(name="tagged", slug="tagged")
    lake_data.make_year(account, 2025, lake_data.FEW_TAGS)
    with account_scope(account):
        _create(account, "mixed", mixed_rules())
        _create(account, "equal", equal_rules())
        return [
            *_spend(account, "a year by", {}),
            *_spend(account, "a year by month and", {"granularity": "month"}),
            *_first_question(account),
            *_sums(account),
        ]


def _create(account: Account, key: str, rules: list[dict[str, Any]]) -> None:
    actor = Actor.command("benchmark")
    create_cost_tag(account=account, actor=actor, key=key, rules=read_rules(rules), default_value="Other")


def _test(dimension: str, *values: str, op: str = "in") -> dict[str, Any]:
    return {"dimension": dimension, "op": op, "values": list(values)}


def _value(column: str, number: int) -> str:
    return f"{column}-{number:08x}"


def equal_rules() -> list[dict[str, Any]]:
    """Return rules that assign accounts and tag values to a hundred cost centers, like a table of owners converted to
    rules."""
    accounts = [_test("account", _value("account_id", number)) for number in range(60)]
    tags = [
        _test(f"tag:{key}", _value(f"tag:{key}", number)) for key in ("team", "app") for number in range(20)
    ]
    return [{"value": f"Cost centre {place}", "when": when} for place, when in enumerate([*tags, *accounts])]


def mixed_rules() -> list[dict[str, Any]]:
    """Return typical rules: equality, combined conditions, substrings, exceptions, copies, days."""
    both = [
        {
            "all": [
                _test("service", *[_value("service", number * 9 + each) for each in range(9)]),
                _test("region", *[_value("region", number), _value("region", number + 1)]),
                {"not": _test("tag:env", _value("tag:env", number % 5))},
            ]
        }
        for number in range(20)
    ]
    parts = [_test("service", f"{number:02x}", op="ends_with") for number in range(200, 215)]
    names = [_test("resource", f"{number:03x}", op="contains") for number in range(5)]
    teams = [_test("tag:team", _value("tag:team", number)) for number in range(20)]
    either = [
        {
            "any": [
                _test("account", _value("account_id", number)),
                _test("usage_type", f"{number:02x}", op="ends_with"),
            ]
        }
        for number in range(30)
    ]
    rules = [
        {"value": f"Value {place}", "when": when}
        for place, when in enumerate([*both, *parts, *names, *teams, *either])
    ]
    dated = [
        {**rule, "valid_from": f"2025-{place + 2:02}-01", "valid_to": f"2025-{place + 5:02}-15"}
        for place, rule in enumerate(rules[:7])
    ]
    copied = [
        {
            "copy": {
                "keys": ["app", "env"],
                "normalise": ["trim", "lower", "dashes"],
                "map": {"tag:app-00000001": "App"},
            },
            "when": _test("region", _value("region", number)),
        }
        for number in range(3)
    ]
    return [*dated, *copied, *rules[7:]]


def _spend(account: Account, name: str, fields: dict[str, Any]) -> list[Row]:
    def question(*group_by: str) -> Callable[[], object]:
        return lambda: query_spend(account, SpendQuery(**YEAR, group_by=list(group_by), **fields))

    by_action = timings(
        TURNS,
        untagged=question(),
        tag=question("tag:team"),
        equal=question("cost_tag:equal"),
        mixed=question("cost_tag:mixed"),
    )
    return [
        {
            "query": f"{name} {title}",
            "lines": f"{LINES:,}",
            "ms": by_action[key].clock,
            "CPU ms": by_action[key].cpu,
            "÷ untagged": by_action[key].cpu / by_action["untagged"].cpu,
            "÷ by a tag": by_action[key].cpu / by_action["tag"].cpu,
        }
        for key, title in (
            ("untagged", "nothing"),
            ("tag", "tag:team"),
            ("equal", f"cost tag, {RULES} rules of equality"),
            ("mixed", f"cost tag, {RULES} mixed rules"),
        )
    ]


def _first_question(account: Account) -> list[Row]:
    """Measure loading and compiling 100 rules: a period without lines, first with a new query each time, then with a
    repeated one."""
    day: dict[str, Any] = {"start_date": date(2020, 1, 1), "end_date": date(2020, 1, 1)}
    again = SpendQuery(**day, group_by=["cost_tag:mixed"])
    tops = iter(range(1, 50))
    by_action = timings(
        TURNS,
        first=lambda: query_spend(account, SpendQuery(**day, group_by=["cost_tag:mixed"], top=next(tops))),
        again=lambda: query_spend(account, again),
        plain=lambda: query_spend(account, SpendQuery(**day, group_by=["tag:team"])),
    )
    return [
        {"without lines": name, "ms": by_action[key].clock, "CPU ms": by_action[key].cpu}
        for key, name in (("first", "asked first"), ("again", "asked again"), ("plain", "by a tag, again"))
    ]


def _sums(account: Account) -> list[Row]:
    """Measure the query for every value and day of a cost tag, as splits and unit costs run it."""
    queries = {
        name: SpendQuery(**YEAR, granularity="day", group_by=[dimension])
        for name, dimension in (("tag", "tag:team"), ("mixed", "cost_tag:mixed"))
    }
    by_action = timings(
        TURNS, **{name: partial(read_costs, account, query) for name, query in queries.items()}
    )
    start = perf_counter()
    count = len(read_costs(account, queries["mixed"]).sums)
    return [
        {
            "every value by day": name,
            "sums": count,
            "ms": by_action[name].clock,
            "CPU ms": by_action[name].cpu,
            "÷ by a tag": by_action[name].cpu / by_action["tag"].cpu,
            "last ms": (perf_counter() - start) * 1_000,
        }
        for name in queries
    ]
