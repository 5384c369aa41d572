"""Ten tenants: each pushes usage, calls tools, opens pages and uploads bills, one request of each kind at a time.

A push is repeated with the same Idempotency-Key until it is acknowledged, as a backend does that must not lose data.
So at the end exactly the acknowledged events must be stored.
"""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple
from urllib.parse import urlsplit
from uuid import uuid4

BATCH = 20
LINES = 200
PAUSES = {"push": 0.5, "question": 1.5, "page": 2.0, "import": 60.0}
TIMEOUT_SECONDS = 60.0
REFUSED = (429, 503)
QUESTIONS: list[tuple[str, dict[str, str]]] = [
    ("querySpend", {"group_by": "service", "start_date": "2026-01-01", "end_date": "2026-01-31"}),
    ("queryUsage", {"usage_metric": "requests"}),
    ("listDimensionValues", {"dimension": "service"}),
]
PAGES = ("", "connections/", "settings/members/")


class Answer(NamedTuple):
    """A response. `status` 0: the connection was refused, broke or timed out."""

    at: float
    kind: str
    tenant: str
    seconds: float
    status: int
    detail: str = ""

    @property
    def begin(self) -> float:
        return self.at - self.seconds


class Answers:
    """The responses to all tenants, in the order of their end."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.all: list[Answer] = []

    def note(self, answer: Answer) -> None:
        with self._lock:
            self.all.append(answer)


@dataclass
class Tenant:
    url: str
    slug: str
    mcp: str
    usage: str
    session: str
    answers: Answers
    ended: threading.Event
    acknowledged: int = 0
    uploaded: int = 0
    threads: list[threading.Thread] = field(default_factory=list)

    def start(self) -> None:
        for kind, work in (
            ("push", self._push),
            ("question", self._ask),
            ("page", self._page),
            ("import", self._upload),
        ):
            thread = threading.Thread(target=self._repeat, args=(kind, work), daemon=True)
            thread.start()
            self.threads.append(thread)

    def join(self) -> None:
        for thread in self.threads:
            thread.join(2 * TIMEOUT_SECONDS)

    def _repeat(self, kind: str, work: Callable[[random.Random], None]) -> None:
        chance = random.Random(f"{self.slug} {kind}")
        while True:
            work(chance)
            if self.ended.wait(PAUSES[kind] * chance.uniform(0.5, 1.5)):
                return

    def _push(self, chance: random.Random) -> None:
        moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
        events = [
            {"metric": "requests", "quantity": 1, "customer_id": f"c-{number}", "timestamp": moment}
            for number in range(BATCH)
        ]
        headers = {"Authorization": f"Bearer {self.usage}", "Idempotency-Key": str(uuid4())}
        # Also after the end of the run: without a response to a started push it is unknown whether the push is stored.
        for _ in range(600):
            status, body = self.request("push", "POST", "/api/usage/events", {"events": events}, headers)
            if status == 200:
                self.acknowledged += json.loads(body)["accepted"]
                return
            threading.Event().wait(0.5)

    def _ask(self, chance: random.Random) -> None:
        self.call_tool("question", *chance.choice(QUESTIONS))

    def call_tool(self, kind: str, tool: str, arguments: Mapping[str, str]) -> tuple[int, bytes]:
        call = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        return self.request(kind, "POST", "/api/mcp", call, {"Authorization": f"Bearer {self.mcp}"})

    def _page(self, chance: random.Random) -> None:
        self.open_page("page", chance.choice(PAGES))

    def open_page(self, kind: str, page: str) -> tuple[int, bytes]:
        cookie = {"Cookie": f"finops_session={self.session}"}
        return self.request(kind, "GET", f"/a/{self.slug}/{page}", None, cookie)

    def _upload(self, chance: random.Random) -> None:
        """Upload a bill of another month, so that every accepted file counts once."""
        month = date(2026, 1, 1) - timedelta(days=31 * (self.uploaded + 1))
        status, _body = self.upload("import", f"Bill {self.uploaded + 1}", bill(month))
        self.uploaded += status in (202, 302)

    def upload(self, kind: str, name: str, file: bytes) -> tuple[int, bytes]:
        token = "a" * 32
        headers = {
            "Cookie": f"finops_session={self.session}; finops_csrf={token}",
            "X-CSRFToken": token,
            "Origin": self.url,
            "Accept": "application/json",
        }
        return self.request(
            kind, "POST", f"/a/{self.slug}/connections/upload/", file, headers, form={"name": name}
        )

    def request(
        self,
        kind: str,
        method: str,
        path: str,
        body: object,
        headers: Mapping[str, str],
        form: Mapping[str, str] | None = None,
    ) -> tuple[int, bytes]:
        content, content_type = _encode(body, form)
        sent = {**headers, "Content-Type": content_type} if content else dict(headers)
        place, start = urlsplit(self.url), time.monotonic()
        status, answer, detail = 0, b"", ""
        connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, content, sent)
            response = connection.getresponse()
            status, answer = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            status, detail = 0, type(error).__name__
        finally:
            connection.close()
        if status >= 500 and status not in REFUSED:
            detail = answer[:300].decode(errors="replace")
        now = time.monotonic()
        self.answers.note(Answer(now, kind, self.slug, now - start, status, detail))
        return status, answer


def bill(month: date) -> bytes:
    """Return a FOCUS file of one month with `LINES` lines, each a cent more than the one before."""
    first = month.replace(day=1)
    after = (first + timedelta(days=32)).replace(day=1)
    columns = "BilledCost,EffectiveCost,BillingCurrency,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,ProviderName,ServiceName,ChargeCategory"
    lines = [columns]
    for number in range(LINES):
        day = first + timedelta(days=number % 28)
        cost = Decimal(number + 1) / 100
        lines.append(
            f"{cost},{cost},USD,{first}T00:00:00Z,{after}T00:00:00Z,{day}T00:00:00Z,{day + timedelta(days=1)}T00:00:00Z,"
            f"AWS,Service {number % 7},Usage"
        )
    return "\n".join([*lines, ""]).encode()


BILL_TOTAL = sum((Decimal(number + 1) / 100 for number in range(LINES)), Decimal())


def _encode(body: object, form: Mapping[str, str] | None) -> tuple[bytes, str]:
    if body is None:
        return b"", ""
    if form is None:
        return json.dumps(body).encode(), "application/json"
    assert isinstance(body, bytes)
    edge = uuid4().hex
    parts = [
        f'--{edge}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in form.items()
    ]
    head = f'--{edge}\r\nContent-Disposition: form-data; name="uploads"; filename="bill.csv"\r\nContent-Type: text/csv\r\n\r\n'
    return "".join(
        [*parts, head]
    ).encode() + body + f"\r\n--{edge}--\r\n".encode(), f"multipart/form-data; boundary={edge}"
