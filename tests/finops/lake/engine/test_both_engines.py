"""What the product asks of the lake (tools, prompts and pages of the demo) has the same answers on DuckDB and on Spark Connect, to
the last digit and type, in the bills' own currencies and converted to one. Sail is the server, with its distributed plans."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.test import override_settings
from pytest_django import DjangoDbBlocker

from accounts.models import Account, User
from finops.demo.people import EMAIL
from finops.exchange_rates.services import upload_rates
from mcpserver.registry import ToolAccess, registry
from tests import recordings
from tests.cast import ACTOR
from tests.factories.module_scope import module_account
from tests.finops.demo.pages_of_demo import pages
from tests.finops.demo.test_load_demo import TODAY, URL, handout, load
from tests.finops.lake.engine.both_engines import Comparison, compare_engines
from tests.mcpserver.mcp_client import McpClient

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def month(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    var = tmp_path_factory.mktemp("demo")
    with module_account(django_db_blocker, var, TODAY), override_settings(PUBLIC_URL=URL):
        recordings.restart_ids()
        load(months=2)
        yield var


@pytest.fixture
def demo(month: Path, settings: LazySettings, monkeypatch: pytest.MonkeyPatch, db: None) -> Path:
    settings.VAR_DIR, settings.LAKE_URL = month, str(month / "lake")
    settings.LAKE_DEADLINE_SECONDS, settings.LAKE_ANSWERS_BYTES = 600, 0
    monkeypatch.setattr("mcpserver.http_request.TOOL_SECONDS", 600.0)
    return month


@pytest.fixture
def demo_in_euros(demo: Path) -> Path:
    """Its dollars are converted: a rate each week with as many decimals as there may be, and none for the first days."""
    account = Account.objects.get(slug="lumenly")
    account.display_currency = "EUR"
    account.save()
    weeks = [TODAY.date() - timedelta(days=7 * number) for number in range(7)]
    rates = [Decimal("0.92") - Decimal(number * 1234567).scaleb(-14) for number in range(len(weeks))]
    rows = [f"{day},USD,EUR,{rate}" for day, rate in zip(weeks, rates, strict=True)]
    content = "\n".join(["date,from,to,rate", *rows]).encode()
    upload_rates(account=account, actor=ACTOR, content=content, name="rates.csv")
    return demo


def check(comparison: Comparison, at_least: int) -> None:
    assert not comparison.differences, f"{len(comparison.differences)} differ:\n" + "\n\n".join(
        comparison.differences[:12]
    )
    assert len(comparison.queries) >= at_least


def compare_tools(demo: Path, sail: str, monkeypatch: pytest.MonkeyPatch) -> Comparison:
    mcp_client = McpClient(handout(demo)["mcp_key_read"])
    with compare_engines(sail, monkeypatch) as comparison:
        for tool in registry:
            for example in tool.examples if tool.access is ToolAccess.READ else ():
                mcp_client.result("tools/call", {"name": tool.name, "arguments": dict(example)})
        for prompt in registry.prompts():
            mcp_client.result("prompts/get", {"name": prompt.name, "arguments": {}})
    return comparison


def compare_pages(sail: str, monkeypatch: pytest.MonkeyPatch) -> Comparison:
    with compare_engines(sail, monkeypatch) as comparison:
        assert list(pages(Account.objects.get(slug="lumenly"), User.objects.get(email=EMAIL)))
    return comparison


def test_the_questions_of_tools_and_prompts(demo: Path, sail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = compare_tools(demo, sail, monkeypatch)
    check(comparison, 50)
    assert comparison.kinds == {"cost", "usage"}


def test_the_questions_of_pages(demo: Path, sail: str, monkeypatch: pytest.MonkeyPatch) -> None:
    check(compare_pages(sail, monkeypatch), 50)


def test_the_questions_of_tools_and_prompts_in_a_display_currency(
    demo_in_euros: Path, sail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compare_tools(demo_in_euros, sail, monkeypatch)
    check(comparison, 50)
    assert comparison.converted >= 30


def test_the_questions_of_pages_in_a_display_currency(
    demo_in_euros: Path, sail: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = compare_pages(sail, monkeypatch)
    check(comparison, 50)
    assert comparison.converted >= 30
