"""MongoDB Atlas: the report of each invoice is requested, polled and downloaded."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from accounts.models import Account
from finops.connections.connector import Fetch, SourceError, SourceUnavailable
from finops.connections.connectors import connector_of
from finops.connections.connectors.mongodb_atlas import AtlasConfig
from finops.lib import clock
from finops.lib.outbound import UrlRefusal
from tests.cast import Cast
from tests.factories.days import NOON
from tests.factories.imports import cost_by
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, sync_now
from tests.finops.connections.vendors.steps import DATA, connect, sums_by_key

ORG, CLIENT, SECRET = "4888442a3354817a7320eb61", "mdb_sa_id_66", "mdb_sa_sk_0123456789"
CONFIG = AtlasConfig(organization_id=ORG, client_id=CLIENT, client_secret=SECRET)
CONNECTOR = connector_of("mongodb_atlas")
TEXT = (DATA / "atlas-focus.csv").read_text()
INVOICES = f"/api/atlas/v2/orgs/{ORG}/invoices"
MARCH = date(2026, 3, 1)


class AtlasApi:
    """`looks` is how often a report is looked at before it is made; `body` its file."""

    def __init__(self, replay: ReplayServer) -> None:
        self.replay, self.body, self.looks = replay, TEXT.encode(), 2
        self.download = f"{replay.url}/files/report.csv?X-Amz-Signature=abcdef"
        self.failure = ""
        self.role = True
        self.types: list[str] = []
        self.invoices = [
            _invoice("66acb8787ba43606905dcae3", "2026-03-01", "PENDING"),
            _invoice("66acb8787ba43606905dcae2", "2026-02-01", "PAID"),
        ]
        replay.routes = {
            "/api/oauth/token": self._token,
            INVOICES: self._invoices,
            "/files/report.csv": self._file,
            **{f"{INVOICES}/{each['id']}/reports": self._create for each in self.invoices},
            **{f"{INVOICES}/{each['id']}/reports/r1": self._report for each in self.invoices},
        }

    def _token(self, request: ReplayRequest) -> Reply:
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {basic}":
            return Reply.of_json(
                {"error": "invalid_client", "error_description": "Client secret expired"}, 401
            )
        assert request.body == b"grant_type=client_credentials"
        return Reply.of_json({"access_token": "eyJ.access.token", "expires_in": 3600, "token_type": "Bearer"})

    def _refusal(self, request: ReplayRequest) -> Reply | None:
        assert request.headers["authorization"] == "Bearer eyJ.access.token"
        assert request.headers["accept"] == "application/vnd.atlas.2025-03-12+json"
        detail = {
            "error": 403,
            "errorCode": "IP_ADDRESS_NOT_ON_ACCESS_LIST",
            "detail": "IP address is not allowed",
        }
        return None if self.role else Reply.of_json(detail, 403)

    def _invoices(self, request: ReplayRequest) -> Reply:
        number, size = int(request.param("pageNum")), int(request.param("itemsPerPage"))
        page = self.invoices[(number - 1) * size : number * size]
        return self._refusal(request) or Reply.of_json({"results": page, "totalCount": len(self.invoices)})

    def _create(self, request: ReplayRequest) -> Reply:
        self.types.append(json.loads(request.body)["reportType"])
        return self._refusal(request) or Reply.of_json(self._state(False), 201)

    def _report(self, request: ReplayRequest) -> Reply:
        self.looks -= 1
        return self._refusal(request) or Reply.of_json(self._state(self.looks <= 0))

    def _state(self, done: bool) -> dict[str, Any]:
        report = {"reportId": "r1", "invoiceId": "i", "reportType": "FOCUS", "reportFormat": "CSV"}
        if self.failure:
            return {**report, "state": "FAILED", "failureReason": self.failure}
        more = {"downloadUrl": self.download, "expiresAt": "2026-03-20T13:00:00Z"} if done else {}
        return {**report, "state": "SUCCEEDED" if done else "IN_PROGRESS", **more}

    def _file(self, request: ReplayRequest) -> Reply:
        assert "authorization" not in request.headers
        return Reply(200, self.body)


def _invoice(id_: str, day: str, status: str) -> dict[str, Any]:
    return {
        "id": id_,
        "orgId": ORG,
        "startDate": f"{day}T00:00:00Z",
        "endDate": f"{day[:5]}{int(day[5:7]) + 1:02}-01T00:00:00Z",
        "statusName": status,
        "updated": f"{day}T09:00:00Z",
        "amountBilledCents": 1234,
        "subtotalCents": 1300,
        "creditsCents": 66,
        "salesTaxCents": 0,
    }


@pytest.fixture
def api(replay: ReplayServer, settings: Settings, sleeps: list[float]) -> Iterator[AtlasApi]:
    settings.CONNECTOR_BASE_URLS = {"mongodb_atlas": replay.url}
    with clock.frozen(NOON):
        yield AtlasApi(replay)


def fetch(api: AtlasApi, folder: Path) -> list[dict[str, str]]:
    (march,) = [each for each in CONNECTOR.months(CONFIG) if each.month == MARCH]
    rows: list[dict[str, str]] = []
    for file in CONNECTOR.fetch(CONFIG, march, Fetch(folder)):
        data = file.path.read_bytes()
        text = gzip.decompress(data).decode() if data[:2] == b"\x1f\x8b" else data.decode()
        rows += csv.DictReader(io.StringIO(text))
    return rows


def test_a_listing_is_a_token_and_a_listing(api: AtlasApi) -> None:
    assert [each.month for each in CONNECTOR.months(CONFIG)] == [MARCH, date(2026, 2, 1)]
    assert api.replay.paths() == ["/api/oauth/token", INVOICES]


def test_a_changed_invoice_changes_its_month_alone(api: AtlasApi) -> None:
    before = {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)}
    assert {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)} == before
    api.invoices[0]["amountBilledCents"] += 1
    after = {each.month: each.fingerprint for each in CONNECTOR.months(CONFIG)}
    assert [month for month in before if before[month] != after[month]] == [MARCH]


def test_many_invoices_are_read_page_by_page(api: AtlasApi) -> None:
    api.invoices = [
        _invoice(f"{number:024x}", f"2026-{number % 3 + 1:02}-01", "PAID") for number in range(1_000)
    ]
    assert len(CONNECTOR.months(CONFIG)) == 3
    assert api.replay.paths().count(INVOICES) == 3


@pytest.mark.parametrize("squeezed", [False, True])
def test_the_report_is_requested_waited_for_and_downloaded_without_our_credential(
    api: AtlasApi, sleeps: list[float], tmp_path: Path, squeezed: bool
) -> None:
    api.body = gzip.compress(TEXT.encode()) if squeezed else TEXT.encode()
    assert fetch(api, tmp_path) == list(csv.DictReader(io.StringIO(TEXT)))
    assert api.types == ["FOCUS"]
    assert sum(sleeps) == 6


def test_a_report_that_fails_says_why(api: AtlasApi, tmp_path: Path) -> None:
    api.failure = "Invoice has no usage."
    with pytest.raises(SourceError, match="failed to create the report: Invoice has no usage"):
        fetch(api, tmp_path)


def test_a_report_that_is_never_made_is_left_for_later(
    api: AtlasApi, tmp_path: Path, sleeps: list[float]
) -> None:
    api.looks = 10_000
    with pytest.raises(SourceUnavailable, match="still creating the report"):
        fetch(api, tmp_path)
    assert 900 <= sum(sleeps) <= 960


def test_a_download_address_inside_the_network_is_refused_without_its_signature(
    api: AtlasApi, tmp_path: Path
) -> None:
    api.download = "https://169.254.169.254/latest/meta-data?X-Amz-Signature=abcdef"
    with pytest.raises(UrlRefusal) as error:
        fetch(api, tmp_path)
    assert "abcdef" not in str(error.value)


def test_a_report_with_another_month_is_not_imported(api: AtlasApi, tmp_path: Path) -> None:
    api.body = TEXT.replace("2026-03-01T00:00:00Z,2026-04", "2026-02-01T00:00:00Z,2026-03", 1).encode()
    with pytest.raises(SourceError, match="The report of 2026-03 has lines of 2026-02"):
        fetch(api, tmp_path)


def test_an_invoice_without_lines_has_no_file(api: AtlasApi, tmp_path: Path) -> None:
    api.body = TEXT.splitlines()[0].encode() + b"\n"
    assert fetch(api, tmp_path) == []


def test_a_check_distinguishes_a_wrong_secret_from_a_missing_role(api: AtlasApi) -> None:
    assert [each.is_ok for each in CONNECTOR.check(CONFIG)] == [True, True]
    wrong = AtlasConfig(organization_id=ORG, client_id=CLIENT, client_secret="mdb_sa_sk_of_another")
    (sign_in,) = CONNECTOR.check(wrong)
    assert sign_in.fix == (
        "The credential has expired. Create a new secret of the service account in Atlas and enter it in this connection."
    )
    api.role = False
    signed_in, listing = CONNECTOR.check(CONFIG)
    assert signed_in.is_ok
    assert "Organization Billing Viewer" in listing.fix
    assert listing.fix.endswith("MongoDB Atlas: IP address is not allowed.")


@pytest.mark.django_db
def test_a_sync_brings_the_report_to_the_cent(api: AtlasApi, acme: Account, cast: Cast) -> None:
    api.invoices = api.invoices[:1]
    connection = connect(cast, "mongodb_atlas", organization_id=ORG, client_id=CLIENT, client_secret=SECRET)
    assert actions(sync_now(connection)) == {"2026-03": "imported"}
    rows = list(csv.DictReader(io.StringIO(TEXT)))
    for column, name in (("account_id", "SubAccountId"), ("charge_category", "ChargeCategory")):
        for place, amount in ((0, "BilledCost"), (1, "EffectiveCost")):
            sums = {key: each[place] for key, each in cost_by(acme, column).items()}
            assert sums == sums_by_key((row[name], Decimal(row[amount])) for row in rows)
    assert actions(sync_now(connection)) == {"2026-03": "unchanged"}
