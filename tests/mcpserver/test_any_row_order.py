"""Any order of groups from the engine gives the same answer of a tool and a page: databases promise no order."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoDbBlocker

from accounts.models import Account
from accounts.scoping import account_scope
from finops.cost_access import reach
from finops.costs.models import CostSource
from finops.exchange_rates.display import account_currencies
from finops.lake.engine import engine
from finops.lake.schema import Kind
from finops.lake.storage import segments
from finops.lib import clock
from mcpserver.registry import ToolAccess, registry
from tests.cast import make_cast, signed_in
from tests.examples import examples
from tests.factories.cost_access import LAST, Pair, make_pair
from tests.factories.costs import Line, add_source, cost
from tests.factories.days import NOON
from tests.factories.module_scope import module_account
from tests.finops.cost_access.comparison import answer_text, assert_same_text, own_rows, page_text, plain
from tests.finops.cost_access.questions import PAGES, QUESTIONS
from tests.isolation.discovery import account_routes, fill

SOURCES = ("Bill", "Invoices")
ASKED, SHOWN = 8, 4
"""Tools and pages of an example: each comes several times in a run."""

TOOLS = [tool for tool in registry if tool.access is ToolAccess.READ]
ROUTES = [route for route in account_routes() if route.name in reach.PAGES]

KINDS: Sequence[dict[str, Any]] = (
    {"service": "Compute", "usage_type": "BoxUsage:m4.large", "consumed_unit": "Hrs"},
    {"service": "Amazon Elastic Compute Cloud", "usage_type": "BoxUsage:m4.large", "consumed_unit": "Hrs"},
    {"service": "Storage", "usage_type": "EBS:VolumeUsage.gp2", "consumed_unit": "GB-Mo"},
    {"service": "Storage", "usage_type": "TimedStorage-ByteHrs", "consumed_unit": "GB-Mo"},
    {"service": "AI", "usage_type": "tokens", "consumed_unit": "Tokens"},
    {"service": "compute"},
    {},
)
"""What the rules of savings, commitments and AI spend are about."""

tags = st.fixed_dictionaries(
    {},
    optional={
        "team": st.sampled_from(["core", "Core", "x"]),
        "env": st.sampled_from(["prod", "dev", "test"]),
        "Env": st.sampled_from(["prod", "dev"]),
    },
)
columns = st.fixed_dictionaries(
    {
        "account_id": st.sampled_from(["1", "2"]),
        "currency": st.sampled_from(["USD", "USD", "EUR"]),
        "charge_category": st.sampled_from(["Usage", "Usage", "Usage", "Usage", "Credit", "Tax", "Purchase"]),
        "charge_frequency": st.sampled_from(["Usage-Based", "Usage-Based", "One-Time", "Recurring"]),
        "service_category": st.sampled_from(["Compute", "Storage"]),
        "consumed_quantity": st.integers(0, 3),
        "tags": tags,
    },
    optional={
        "account_name": st.sampled_from(["Core", "Other"]),
        "region": st.sampled_from(["eu-1", "us-1"]),
        "resource_id": st.sampled_from(["i-1", "i-2"]),
        "resource_name": st.sampled_from(["web", "db"]),
        "provider": st.sampled_from(["AWS", "Amazon Web Services", "OpenAI"]),
        "sku_id": st.sampled_from(["sku-1", "sku-2"]),
        "commitment_id": st.sampled_from(["sp-1", "sp-2"]),
        "commitment_name": st.sampled_from(["One", "Two"]),
        "commitment_type": st.sampled_from(["Savings Plan", "Reservation"]),
        "commitment_status": st.sampled_from(["Used", "Unused"]),
    },
)
# Few different amounts, so that many groups cost the same.
lines = st.builds(
    lambda back, amount, kind, more: cost(LAST - timedelta(days=back), amount, **{**kind, **more}),
    st.one_of(st.integers(0, 30), st.integers(0, 75)),
    st.sampled_from([5, 5, 5, 7, -2, 0]),
    st.sampled_from(KINDS),
    columns,
)
bills = st.tuples(st.lists(lines, min_size=1, max_size=16), st.lists(lines, max_size=12))


@pytest.fixture(scope="module")
def module_pair(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    with module_account(django_db_blocker, tmp_path_factory.mktemp("row-order"), NOON):
        yield make_pair(make_cast())


@pytest.fixture
def pair(module_pair: Pair, db: None) -> Iterator[Pair]:
    with clock.frozen(NOON):
        yield module_pair


def store(account: Account, bill: Sequence[Sequence[Line]]) -> None:
    with account_scope(account):
        for source in CostSource.objects.all():
            segments.retire_source(account=account, kind=Kind.COST, source_id=source.pk)
            source.delete()
        for name, of_source in zip(SOURCES, bill, strict=True):
            if of_source:
                add_source(account, of_source, name=name)
        # As an import leaves it.
        Account.objects.filter(pk=account.pk).update(currencies=account_currencies(account))


class ShuffledRows:
    """The engine, with the rows of each result in an order of the seed; in its own without one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run = engine.run
        self.seed: int | None = None
        monkeypatch.setattr(engine, "run", self)

    def __call__(self, *args: Any, **kwargs: Any) -> pa.Table:
        table = self.run(*args, **kwargs)
        if self.seed is None:
            return table
        order = list(range(table.num_rows))
        random.Random(self.seed).shuffle(order)
        return table.take(pa.array(order, pa.int64()))


@pytest.mark.slow
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=examples(40),
    deadline=None,
)
@given(bill=bills, seed=st.integers(0, 1_000), data=st.data())
def test_any_bill_answers_the_same_whatever_order_the_engine_returns_groups_in(
    pair: Pair, bill: Any, seed: int, data: st.DataObject
) -> None:
    tools = data.draw(st.permutations(TOOLS))
    questions = [
        (tool, data.draw(st.sampled_from([{}, *tool.examples, *QUESTIONS.get(tool.name, [])])))
        for tool in tools[:ASKED]
    ]
    pages = data.draw(st.permutations(ROUTES))[:SHOWN]
    queries = [data.draw(st.sampled_from(PAGES[route.name])) for route in pages]
    client = signed_in(pair.reader)
    with pytest.MonkeyPatch.context() as monkeypatch, transaction.atomic():
        store(pair.inside, bill)
        rows = ShuffledRows(monkeypatch)

        def in_both_orders(answer: Any) -> None:
            texts = []
            for rows.seed in (None, seed):
                texts.append(answer())
            assert_same_text(texts[1], texts[0])

        for tool, arguments in questions:
            in_both_orders(
                lambda tool=tool, arguments=arguments: plain(
                    answer_text(pair.inside_key, tool, dict(arguments)), pair
                )
            )
        for route, query in zip(pages, queries, strict=True):
            values = own_rows(pair.inside) if len(route.arguments) > 1 else {}
            url = fill(route, pair.inside.slug, values) + query
            in_both_orders(lambda url=url: page_text(client.get(url), pair))
        transaction.set_rollback(True)
