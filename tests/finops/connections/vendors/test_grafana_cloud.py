"""Grafana Cloud: one file of two months, each stored completely."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from pytest_django import Settings

from accounts.models import Account
from finops.connections.connector import AccessError, BillMonth, Fetch, SourceError
from finops.connections.connectors import connector_of
from finops.connections.connectors.grafana_cloud import GrafanaConfig
from finops.lib import clock
from tests.cast import Cast
from tests.factories.days import NOON
from tests.factories.imports import cost_by
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.finops.connections.vendors.steps import DATA, connect, sums_by_key

TOKEN = "glc_0123456789abcdefghij"
CONFIG = GrafanaConfig(organization="acme", token=TOKEN)
CONNECTOR = connector_of("grafana_cloud")
TEXT = (DATA / "grafana-focus.csv").read_text()
FEBRUARY, MARCH = date(2026, 2, 1), date(2026, 3, 1)


class GrafanaApi:
    """`text` is the file; `scopes` what the token may do."""

    def __init__(self, replay: ReplayServer) -> None:
        self.text = TEXT
        self.scopes = {"org-billing-focus:read"}
        self.replay = replay
        replay.routes["/api/orgs/acme/focus"] = self._focus

    def _focus(self, request: ReplayRequest) -> Reply:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return Reply.of_json({"message": "Token has expired"}, 401)
        if not self.scopes:
            return Reply.of_json({"code": "Forbidden", "message": "You do not have permission"}, 403)
        headers = {"Content-Type": "text/csv", "Content-Disposition": "attachment; filename=../../etc/passwd"}
        return Reply(200, self.text.encode(), headers)

    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.text)))


@pytest.fixture
def api(replay: ReplayServer, settings: Settings) -> Iterator[GrafanaApi]:
    settings.CONNECTOR_BASE_URLS = {"grafana_cloud": replay.url}
    with clock.frozen(NOON):
        yield GrafanaApi(replay)


def test_a_listing_downloads_the_file_once_and_finds_its_months(api: GrafanaApi) -> None:
    months = CONNECTOR.months(CONFIG)
    assert [month.month for month in months] == [MARCH, FEBRUARY]
    assert len(api.replay.requests) == 1


def test_the_order_of_lines_changes_no_month_and_a_line_changes_its_own(api: GrafanaApi) -> None:
    before = {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)}
    header, *lines = TEXT.splitlines()
    api.text = "\n".join([header, *reversed(lines)]) + "\n"
    assert {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)} == before
    place = next(number for number, line in enumerate(lines) if "2026-04-01" in line)
    api.text = "\n".join([header, *lines[:place], "9" + lines[place], *lines[place + 1 :]]) + "\n"
    after = {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)}
    assert [month for month in before if before[month] != after[month]] == [MARCH]


def test_a_month_is_its_lines_alone(api: GrafanaApi, tmp_path: Path) -> None:
    (file,) = CONNECTOR.fetch(CONFIG, BillMonth(FEBRUARY, ""), Fetch(tmp_path))
    with file.path.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert rows == [row for row in api.rows() if row["BillingPeriodStart"].startswith("2026-02")]
    assert [path.name for path in tmp_path.iterdir()] == ["grafana-2026-02.csv"]


def test_a_month_that_went_away_has_no_file(api: GrafanaApi, tmp_path: Path) -> None:
    assert CONNECTOR.fetch(CONFIG, BillMonth(date(2026, 1, 1), ""), Fetch(tmp_path)) == []


def test_an_empty_file_has_no_months(api: GrafanaApi) -> None:
    api.text = TEXT.splitlines()[0] + "\n"
    assert CONNECTOR.months(CONFIG) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<html>Sign in</html>", "is not a FOCUS file"),
        ("", "is not a FOCUS file"),
        (
            "BilledCost,BillingPeriodStart\n1,soon\n",
            "Line 2 of the file has no BillingPeriodStart that is a date",
        ),
        ("BilledCost,BillingPeriodStart\n1\n", "Line 2 of the file has no BillingPeriodStart that is a date"),
        ('BilledCost,BillingPeriodStart\n"1"x,2026-03-01\n', "not valid CSV"),
    ],
)
def test_a_file_other_than_focus_is_refused(api: GrafanaApi, text: str, words: str) -> None:
    api.text = text
    with pytest.raises(SourceError, match=words):
        CONNECTOR.months(CONFIG)


def test_a_check_names_the_scope_and_the_organization(api: GrafanaApi) -> None:
    assert [each.is_ok for each in CONNECTOR.check(CONFIG)] == [True]
    (unknown,) = CONNECTOR.check(GrafanaConfig(organization="other", token=TOKEN))
    assert (
        unknown.fix
        == "Grafana Cloud has no organization other, or the token belongs to another one. Check both."
    )
    (expired,) = CONNECTOR.check(GrafanaConfig(organization="acme", token="glc_of_somebody_else_entirely"))
    assert expired.fix.startswith("The credential has expired. Add a new token to the access policy")
    api.scopes = set()
    (finding,) = CONNECTOR.check(CONFIG)
    assert "Add the scope org-billing-focus:read to its access policy" in finding.fix
    with pytest.raises(AccessError):
        CONNECTOR.months(CONFIG)


@pytest.mark.django_db
def test_a_sync_brings_both_months_to_the_cent(api: GrafanaApi, acme: Account, cast: Cast) -> None:
    connection = connect(cast, "grafana_cloud", organization="acme", token=TOKEN)
    sync = sync_now(connection)
    assert actions(sync) == {"2026-03": "imported", "2026-02": "imported"}
    for column, name in (("billing_period", "BillingPeriodStart"), ("service", "ServiceName")):
        sums = cost_by(acme, column)
        length = 7 if column == "billing_period" else 100
        for place, amount in ((0, "BilledCost"), (1, "EffectiveCost")):
            assert {key: each[place] for key, each in sums.items()} == sums_by_key(
                (row[name][:length], Decimal(row[amount])) for row in api.rows()
            )
    assert set(actions(sync_now(connection)).values()) == {"unchanged"}
    api.text = "\n".join(line for line in TEXT.splitlines() if "2026-02-01" not in line) + "\n"
    assert actions(sync_now(connection)) == {"2026-03": "unchanged"}
    assert set(cost_by(acme, "billing_period")) == {"2026-02", "2026-03"}
