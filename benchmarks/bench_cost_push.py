"""POST /api/costs: a month of 1,000 rows in one call, and its rows on their way to the importer.

Beside the call, taking turns in one run: a bare DRF view that parses the same body with DRF's own JSON parser, checks no key and
stores nothing. Beside the conversion: `json.loads` and pyarrow, which round amounts to floats and check nothing.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.http import HttpRequest
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from rest_framework.parsers import JSONParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.audit import Actor
from accounts.services import create_account
from benchmarks.table import Row, Timing, timings
from finops.connections.push_files import PartFormat, convert_to_parquet
from finops.connections.services import pushes
from finops.connections.services.cost_keys import create_pushed_source
from finops.connections.views.push import Month

ROWS = 1_000
CONVERTED_ROWS = int(os.environ.get("BENCH_COST_PUSH_ROWS", "100000"))
TURNS = 30
CONVERT_TURNS = 5
MONTH = "2026-05"
PATH = f"/api/costs/months/{MONTH}"


class BareView(APIView):  # type: ignore[misc]  # DRF has no types
    authentication_classes: list[type] = []
    permission_classes: list[type] = []
    parser_classes = [JSONParser]

    def post(self, request: Request) -> Response:
        return Response({"rows": len(request.data["rows"])})


def measure() -> list[Row]:
    settings.COST_PUSH_RATE_LIMIT_PER_MINUTE = 10**7
    pushes.MAX_UNFINISHED = 10**7  # type: ignore[misc]  # no worker imports them here
    key = _cost_key()
    return [_call(key), _conversion()]


def _cost_key() -> str:
    owner = get_user_model().objects.create_user("cost-push@example.com")
    account = create_account(name="Bench", owner=owner, slug="bench-cost-push")
    return create_pushed_source(account=account, actor=Actor.command("bench"), name="Pushes")[2]


def _rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "BillingPeriodStart": f"{MONTH}-01T00:00:00Z",
            "ChargePeriodStart": f"{MONTH}-{number % 28 + 1:02}T00:00:00Z",
            "BillingCurrency": "USD",
            "BilledCost": f"{number / 997:.6f}",
            "EffectiveCost": number / 1_024,
            "ProviderName": "Our platform",
            "ServiceName": f"service-{number % 12}",
            "ChargeCategory": "Usage",
            "ResourceId": f"resource-{number % 400}",
            "Tags": {"team": f"team-{number % 9}", "env": "prod"},
        }
        for number in range(count)
    ]


def _call(key: str) -> Row:
    body = json.dumps({"rows": _rows(ROWS)}).encode()
    product, bare = Month.as_view(), BareView.as_view()

    def push() -> None:
        answer = product(_request(body, key), month=MONTH)
        assert answer.status_code == 202, answer.content

    def parse() -> None:
        answer = bare(_request(body, key))
        answer.render()
        assert answer.data == {"rows": ROWS}

    took = timings(TURNS, push=push, bare=parse)
    with CaptureQueriesContext(connection) as queries:
        push()
    return {
        "POST of 1,000 rows": f"{len(body) / 1_000:.0f} kB",
        "ms": took["push"].clock,
        "CPU ms": took["push"].cpu,
        "queries": len(queries),
        "bare DRF, ms": took["bare"].clock,
        "ratio to bare DRF": took["push"].clock / took["bare"].clock,
        "ratio to bare DRF, by CPU": took["push"].cpu / took["bare"].cpu,
    }


def _request(body: bytes, key: str) -> HttpRequest:
    headers = {"authorization": f"Bearer {key}"}
    return RequestFactory().post(PATH, body, content_type="application/json", headers=headers)


def _conversion() -> Row:
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        source = Path(name) / "rows.json"
        source.write_text(json.dumps({"rows": _rows(CONVERTED_ROWS)}))
        took = timings(
            CONVERT_TURNS,
            push=lambda: convert_to_parquet(source, Path(name) / "push", "part-1", PartFormat.JSON),
            pyarrow=lambda: _pyarrow(source, Path(name) / "peer"),
        )
        return {
            "JSON to Parquet, rows": CONVERTED_ROWS,
            "rows/s": _speed(took["push"]),
            "json and pyarrow, rows/s": _speed(took["pyarrow"]),
            "ratio to json and pyarrow": took["pyarrow"].clock / took["push"].clock,
            "ratio to json and pyarrow, by CPU": took["pyarrow"].cpu / took["push"].cpu,
        }


def _pyarrow(source: Path, target: Path) -> None:
    rows = json.loads(source.read_bytes())["rows"]
    for row in rows:
        row["Tags"] = json.dumps(row["Tags"])
    pq.write_table(pa.Table.from_pylist(rows), target)


def _speed(timing: Timing) -> int:
    return round(CONVERTED_ROWS / timing.clock * 1_000)
