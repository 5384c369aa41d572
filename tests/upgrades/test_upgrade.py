"""This version over the data of an earlier commit: what was stored is read, asked and added to.

`data/<commit>.tar.xz` has the database (pg_dump) and the lake of `tests/upgrades/take.py`, and the keys (demo.json).
"""

from __future__ import annotations

import json
import os
import secrets
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pyarrow.parquet as pq
import pytest

from tests import database_template
from tests.servers import LiveServer, serve_again
from tests.upgrades.stored import DATA, SECRETS

pytestmark = pytest.mark.slow

[ARCHIVE] = DATA.glob("*.tar.xz")


@dataclass(frozen=True)
class Installation:
    """The new version over a migrated copy of the data."""

    server: LiveServer
    folder: Path
    handout: dict[str, str]

    def post(self, path: str, body: object, key: str, **headers: str) -> dict[str, Any]:
        request = Request(  # noqa: S310 - our own server
            self.server.url + path,
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {key}", "Content-Type": "application/json", **headers},
        )
        try:
            answer = urlopen(request, timeout=60)  # noqa: S310
        except HTTPError as error:
            raise AssertionError(error.read().decode()) from error
        with answer:
            reply: dict[str, Any] = json.loads(answer.read(), parse_float=Decimal, parse_int=Decimal)
        return reply

    def ask(self, tool: str, **arguments: object) -> dict[str, Any]:
        return self.post(f"/api/v1/tools/{tool}", arguments, self.handout["mcp_key_read"])


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[Installation]:
    folder = tmp_path_factory.mktemp("upgrade")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    with database(folder / "database.sql") as url:
        environment = {
            **os.environ,
            **SECRETS,
            "DJANGO_SETTINGS_MODULE": "tests.live_settings",
            "DATABASE_URL": url,
            "VAR_DIR": str(folder),
        }
        stopped = LiveServer("", environment, folder / "server.log")
        stopped.manage("migrate", "--verbosity=0")
        with serve_again(stopped) as server:
            yield Installation(server, folder, json.loads((folder / "demo.json").read_text()))


@contextmanager
def database(dump: Path) -> Iterator[str]:
    name, admin = f"upgrade_{secrets.token_hex(6)}", os.environ["DATABASE_URL"]
    database_template.execute(admin, f'CREATE DATABASE "{name}"')
    try:
        url = urlsplit(admin)._replace(path=f"/{name}").geturl()
        database_template.load(dump, url)
        yield url
    finally:
        database_template.execute(admin, f'DROP DATABASE "{name}" WITH (FORCE)')


def cost_by_currency(folder: Path) -> dict[str, Decimal]:
    """Of the first account's files, as the old version wrote them."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for path in (folder / "lake" / "1" / "cost").rglob("*.parquet"):
        table = pq.read_table(path, columns=["currency", "billed_cost"], partitioning=None)
        for row in table.group_by("currency").aggregate([("billed_cost", "sum")]).to_pylist():
            sums[row["currency"]] += row["billed_cost_sum"]
    # Tools give six decimals.
    return {currency: amount.quantize(Decimal("0.000001")) for currency, amount in sums.items()}


def test_the_upgraded_server_is_ready(installation: Installation) -> None:
    with urlopen(f"{installation.server.url}/readyz", timeout=60) as answer:  # noqa: S310
        checks = json.loads(answer.read())["checks"]
    assert (checks["database"], checks["migrations"], checks["lake"]) == ("ok", "ok", "ok")


def test_cost_equals_the_sum_of_the_old_files(installation: Installation) -> None:
    answer = installation.ask(
        "querySpend",
        start_date="2024-09-01",
        end_date="2026-11-30",
        basis="billed",
        charge_categories=["all"],
    )
    totals = {total["currency"]: total["amount"] for total in answer["totals"]}
    assert totals == cost_by_currency(installation.folder)
    assert len(totals) == 2


def test_a_push_with_the_old_key_is_added_to_what_was_there(installation: Installation) -> None:
    def events() -> list[Any]:
        return list(
            installation.ask("listUsageEvents", start_date="2026-11-01", end_date="2026-11-22", limit=100)[
                "events"
            ]
        )

    assert events()
    event = {
        "event_id": "after",
        "customer_id": "new",
        "metric": "upgrades",
        "quantity": 1,
        "timestamp": "2026-11-22T12:00:00Z",
    }
    reply = installation.post("/api/usage/events", {"events": [event]}, installation.handout["usage_key"])
    assert reply["accepted"] == 1
    answer = installation.ask(
        "queryUsage", usage_metric="upgrades", start_date="2026-11-22", end_date="2026-11-22"
    )
    assert answer["quantity"] == 1


def test_the_lake_is_sound(installation: Installation) -> None:
    assert "segments" in installation.server.manage("check_lake")


@pytest.mark.long
def test_every_page_of_every_account_opens(installation: Installation) -> None:
    statuses = installation.server.run("tests.upgrades.upgrade_steps:open_pages")
    assert len(statuses) > 50
    assert {path: status for path, status in statuses.items() if status >= 500} == {}
