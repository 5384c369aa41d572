"""Oracle's reports from a server that checks each request's signature, through whole syncs: every file of a month counts."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from pytest_django import Settings

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connector import AccessError, Fetch, MonthConflict, SourceError
from finops.connections.connectors import connector_of
from finops.connections.connectors.oci_focus import OciFocusConfig
from finops.connections.models import CostConnection
from finops.connections.transports.oci_storage import OciBucket, OciKey
from finops.connections.vendor_apis.service_account import rsa_key
from tests.cast import Cast
from tests.factories.imports import cost_by, total
from tests.finops.connections.gcs_emulator import private_key
from tests.finops.connections.replay_server import ReplayRequest, ReplayServer, Reply
from tests.finops.connections.syncs.sync_steps import actions, month_rows, sync_now
from tests.finops.costs.native.truth import oracle as oracle_report
from tests.finops.costs.native.truth.bills import write_csv

pytestmark = pytest.mark.django_db

TENANCY, USER = "ocid1.tenancy.oc1..aaaaacme", "ocid1.user.oc1..aaaareader"
FINGERPRINT = ":".join(["20"] * 16)
LISTING = f"/n/bling/b/{TENANCY}/o"
CONNECTOR = connector_of("oci_focus")
VALUES = {"tenancy": TENANCY, "user": USER, "fingerprint": FINGERPRINT, "region": "eu-frankfurt-1"}


class OracleBucket:
    """Its objects by name; each with an ETag that counts how often it was put."""

    def __init__(self, server: ReplayServer) -> None:
        self.server = server
        self.objects: dict[str, tuple[bytes, int, str]] = {}
        server.routes[LISTING] = self._list

    def put(self, name: str, content: bytes, modified: str = "2026-05-02T03:04:05.678Z") -> None:
        _, version, _ = self.objects.get(name, (b"", 0, ""))
        self.objects[name] = (content, version + 1, modified)
        path = f"{LISTING}/{name.replace('/', '%2F').replace(' ', '%20')}"
        self.server.routes[path] = lambda request: self._read(request, name)

    def _list(self, request: ReplayRequest) -> Reply:
        names = sorted(name for name in self.objects if name.startswith(request.param("prefix")))
        names = [name for name in names if name >= request.param("start")]
        page, more = names[:2], names[2:]
        entries = [
            {"name": name, "size": len(content), "etag": str(version), "timeModified": modified}
            for name in page
            for content, version, modified in [self.objects[name]]
        ]
        return self._signature_error(request) or Reply.of_json(
            {"objects": entries, "nextStartWith": more[0] if more else None}
        )

    def _read(self, request: ReplayRequest, name: str) -> Reply:
        content, version, _ = self.objects[name]
        if request.headers["if-match"] != str(version):
            return Reply.of_json({"code": "IfMatchFailed"}, 412)
        start, end = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers["range"]).groups()  # type: ignore[union-attr]
        return self._signature_error(request) or Reply(206, content[int(start) : int(end) + 1])

    def _signature_error(self, request: ReplayRequest) -> Reply | None:
        """As Oracle checks it; None for a signature that is right."""
        fields = dict(re.findall(r'(\w+)="([^"]*)"', request.headers["authorization"]))
        values = {"(request-target)": f"{request.method.lower()} {request.target}"}
        text = "\n".join(
            f"{name}: {values.get(name) or request.headers[name]}" for name in fields["headers"].split()
        )
        key = load_pem_private_key(private_key().encode(), None)
        assert isinstance(key, RSAPrivateKey)
        try:
            key.public_key().verify(
                base64.b64decode(fields["signature"]), text.encode(), PKCS1v15(), SHA256()
            )
        except InvalidSignature:
            return Reply.of_json({"code": "NotAuthenticated", "message": "Bad signature"}, 401)
        is_ours = fields["keyId"] == f"{TENANCY}/{USER}/{FINGERPRINT}"
        return None if is_ours else Reply.of_json({"code": "NotAuthenticated"}, 401)


@pytest.fixture
def oracle(replay: ReplayServer, settings: Settings) -> OracleBucket:
    settings.CONNECTOR_BASE_URLS = {"oci_storage": replay.url}
    return OracleBucket(replay)


@pytest.fixture
def connection(cast: Cast, oracle: OracleBucket) -> Iterator[CostConnection]:
    row = services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Oracle",
        connector="oci_focus",
        values={**VALUES, "private_key": private_key()},
    )
    with account_scope(cast.account):
        yield row


def test_an_object_is_written_and_deleted_with_requests_that_oracle_accepts(
    oracle: OracleBucket, tmp_path: Path
) -> None:
    file, stored = tmp_path / "file", list[bytes]()
    file.write_bytes(b"lines of cost")

    def answer(request: ReplayRequest) -> Reply:
        if request.method == "PUT":
            stored.append(request.body)
        return oracle._signature_error(request) or Reply(204 if request.method == "DELETE" else 200)

    oracle.server.routes["/n/acme/b/out/o/data%2Fa%20b.parquet"] = answer
    key = OciKey(f"{TENANCY}/{USER}/{FINGERPRINT}", rsa_key(private_key(), "private_key"))
    bucket = OciBucket("https://unused.example", "acme", "out", "data", key=key, denial="Denied.")
    bucket.put("a b.parquet", file)
    bucket.delete("a b.parquet")
    bucket.delete("gone")

    assert stored == [b"lines of cost"]
    with pytest.raises(AccessError, match="Denied"):
        bucket.put("other", file)


def config(**values: Any) -> OciFocusConfig:
    return OciFocusConfig(**{**VALUES, "private_key": private_key(), **values})


def test_all_files_of_a_month_are_its_cost_and_a_new_one_adds_to_them(
    cast: Cast, connection: CostConnection, oracle: OracleBucket
) -> None:
    oracle.put("FOCUS Reports/2026/05/01/0001.csv.gz", month_rows("2026-05", "1"))
    oracle.put("FOCUS Reports/2026/05/01/0002.csv.gz", month_rows("2026-05", "2"))
    oracle.put("FOCUS Reports/2026/05/31/0003.csv.gz", month_rows("2026-05", "4"))
    oracle.put("reports/cost-csv/0001.csv.gz", b"not read")

    sync = sync_now(connection)
    assert (sync.error, actions(sync)) == ("", {"2026-05": "imported"})
    assert total(cast.account) == Decimal(7)
    assert actions(sync_now(connection)) == {"2026-05": "unchanged"}

    oracle.put("FOCUS Reports/2026/05/31/0004.csv.gz", month_rows("2026-05", "8"))
    assert actions(sync_now(connection)) == {"2026-05": "imported"}
    assert total(cast.account) == Decimal(15)


def test_lines_of_the_month_before_in_the_first_files_count_to_that_month(
    cast: Cast, connection: CostConnection, oracle: OracleBucket
) -> None:
    oracle.put("FOCUS Reports/2026/05/31/0001.csv.gz", month_rows("2026-05", "1"))
    oracle.put("FOCUS Reports/2026/06/01/0002.csv.gz", month_rows("2026-05", "2"))
    oracle.put("FOCUS Reports/2026/06/01/0003.csv.gz", month_rows("2026-06", "4"))

    assert sync_now(connection).error == ""

    months = {month: sums[0] for month, sums in cost_by(cast.account, "billing_period").items()}
    assert months == {"2026-05": Decimal(3), "2026-06": Decimal(4)}


def test_the_month_of_oracles_own_reports_is_that_of_the_object(oracle: OracleBucket, tmp_path: Path) -> None:
    oracle.put("reports/cost-csv/0001.csv.gz", b"one", "2026-05-02T03:04:05.678Z")
    oracle.put("reports/cost-csv/0002.csv.gz", b"two", "2026-06-02T03:04:05.678Z")
    oracle.put("reports/usage-csv/0003.csv.gz", b"three")

    may, june = CONNECTOR.months(config(report="cost_csv"))

    assert (f"{may.month:%Y-%m}", f"{june.month:%Y-%m}") == ("2026-05", "2026-06")
    [file] = CONNECTOR.fetch(config(report="cost_csv"), june, Fetch(tmp_path))
    assert file.path.read_bytes() == b"two"


@pytest.fixture
def cost_csv(cast: Cast, oracle: OracleBucket) -> Iterator[CostConnection]:
    row = services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Oracle",
        connector="oci_focus",
        values={**VALUES, "private_key": private_key(), "report": "cost_csv"},
    )
    with account_scope(cast.account):
        yield row


Sums = dict[str, tuple[Decimal, Decimal]]


def raw_sums(column: str, *files: bytes) -> Sums:
    """Cost of Oracle's own files, as Python's csv reads it; a month of the usage, where `column` is its start."""
    totals: dict[str, Decimal] = defaultdict(Decimal)
    for file in files:
        for row in csv.DictReader(io.StringIO(file.decode())):
            key = row[column][:7] if column == "lineItem/intervalUsageStart" else row[column]
            totals[key] += Decimal(row["cost/myCost"] or 0)
    return {key: (total, total) for key, total in totals.items() if total}


def test_oracles_own_reports_arrive_with_the_sums_of_their_files(
    cast: Cast, cost_csv: CostConnection, oracle: OracleBucket
) -> None:
    """Oracle delivers by the day: the first file of June has the last hours of May."""
    lines = sorted(oracle_report.lines(), key=lambda line: line["lineItem/intervalUsageStart"])
    cuts = (0, 40, 110, len(lines))
    parts = [write_csv(lines[start:end]) for start, end in pairwise(cuts)]
    delivered = ("2026-05-11T03:04:05.678Z", "2026-06-01T03:04:05.678Z", "2026-06-28T03:04:05.678Z")
    for number, (part, when) in enumerate(zip(parts, delivered, strict=True)):
        oracle.put(f"reports/cost-csv/000{number}.csv.gz", gzip.compress(part, mtime=0), when)

    sync = sync_now(cost_csv)

    assert (sync.error, actions(sync)) == ("", {"2026-05": "imported", "2026-06": "imported"})
    for column, native in {
        "service": "product/service",
        "account_id": "lineItem/tenantId",
        "region": "product/region",
        "currency": "cost/currencyCode",
        "billing_period": "lineItem/intervalUsageStart",
    }.items():
        sums = cost_by(cast.account, column)
        assert {key: each for key, each in sums.items() if any(each)} == raw_sums(native, *parts), column
    assert actions(sync_now(cost_csv)) == {"2026-05": "unchanged", "2026-06": "unchanged"}

    more = write_csv([{**lines[-1], "cost/myCost": "1.25", "lineItem/referenceNo": "late"}])
    oracle.put("reports/cost-csv/0003.csv.gz", gzip.compress(more, mtime=0), "2026-06-28T09:04:05.678Z")
    assert actions(sync_now(cost_csv)) == {"2026-05": "unchanged", "2026-06": "imported"}
    expected = raw_sums("lineItem/intervalUsageStart", *parts, more)
    assert cost_by(cast.account, "billing_period") == expected


def test_a_report_that_is_replaced_while_it_is_read_is_a_conflict(
    oracle: OracleBucket, tmp_path: Path
) -> None:
    for number in (1, 2):
        oracle.put(f"FOCUS Reports/2026/05/01/{number}.csv.gz", b"abc")

    with pytest.raises(MonthConflict):
        CONNECTOR.fetch(
            config(),
            CONNECTOR.months(config())[0],
            Fetch(tmp_path, lambda _bytes: oracle.put("FOCUS Reports/2026/05/01/2.csv.gz", b"new")),
        )


def test_a_tenancy_without_the_policy_gets_its_name(oracle: OracleBucket) -> None:
    oracle.server.routes[LISTING] = lambda _request: Reply.of_json({"code": "BucketNotFound"}, 404)

    with pytest.raises(AccessError, match="endorse its group to read objects in tenancy usage-report"):
        CONNECTOR.months(config())


def test_a_key_that_oracle_does_not_know_says_what_to_check(oracle: OracleBucket) -> None:
    with pytest.raises(AccessError, match="Check tenancy, user and fingerprint"):
        CONNECTOR.months(config(user="ocid1.user.oc1..somebodyelse"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no key",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",  # pragma: allowlist secret
    ],
)
def test_an_invalid_private_key_is_refused_at_its_field(oracle: OracleBucket, text: str) -> None:
    with pytest.raises(SourceError, match="Not an RSA private key") as error:
        CONNECTOR.months(config(private_key=text))
    assert error.value.field == "private_key"
    assert oracle.server.requests == []


def test_the_check_tries_each_step_in_turn(oracle: OracleBucket) -> None:
    assert [each.is_ok for each in CONNECTOR.check(config())] == [True, True, False]
    oracle.put("FOCUS Reports/2026/05/01/0001.csv.gz", b"abc")

    assert [each.title for each in CONNECTOR.check(config()) if each.is_ok] == [
        "Read the private key",
        f"List oci://{TENANCY}@bling/FOCUS Reports",
        "Find reports",
        "Read the newest report",
    ]
