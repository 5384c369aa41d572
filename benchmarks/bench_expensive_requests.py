"""The most expensive requests of each endpoint: CPU of this process, its threads and PostgreSQL per KB sent (head and
body).

Hypothesis searches shapes that are designed to be expensive (`expensive_shapes.py`), up to the endpoint's maximum size,
with rate limits turned off. A request counts as at least one KB. None may exceed LIMIT, except a first KB that is
expensive regardless of its content (a lake query, a password hash): such an endpoint names in `limited by` what
limits a client, and a larger request may not cost more per KB than that first one.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django.conf import settings as django_settings
from django.core.management import call_command
from django.test import Client, override_settings
from hypothesis import HealthCheck, Phase, given, settings, target
from hypothesis import strategies as st

from accounts.audit import Actor
from accounts.models import Account
from accounts.scoping import account_scope
from benchmarks import expensive_shapes as expensive
from benchmarks.cpu import children, postmaster
from benchmarks.expensive_shapes import Shapes
from benchmarks.push_events import bodies
from benchmarks.table import Row
from finops.costs.models import CostSource
from finops.demo import handout
from finops.demo.people import SLUG, demo_user
from finops.lib.bulkheads import Bulkhead
from ingestion import services
from tests.cast import signed_in
from tests.live_settings import STORAGES

LIMIT: Final = 50.0
HEAD: Final = 400
"""Bytes of a request's line and headers, with its credential."""
EXAMPLES: Final = 3
"""Examples per shape."""
SECONDS: Final = 8.0
"""Seconds per endpoint; the first example of each shape always runs."""

Send = Callable[[bytes], Any]


@dataclass(frozen=True)
class Endpoint:
    """One endpoint: how a body is sent, its expensive shapes up to `most` bytes, and what limits a client of an
    endpoint with an expensive first KB."""

    name: str
    send: Send
    shapes: Shapes
    most: int
    bound: str = ""


@dataclass(frozen=True, order=True)
class Example:
    ms_per_kilobyte: float
    shape: str
    kilobytes: float
    spent: float


def measure() -> list[Row]:
    logging.disable(logging.CRITICAL)
    call_command("load_demo", verbosity=0)
    with without_limits():
        return [row(endpoint) for endpoint in endpoints()]


def without_limits() -> override_settings:
    per_minute = ("MCP_RATE_LIMIT", "USAGE_RATE_LIMIT")
    return override_settings(
        STORAGES=STORAGES,
        ACCOUNT_RATE_LIMITS=False,
        RATELIMIT_ENABLE=False,
        EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
        **{f"{name}_PER_MINUTE": 10**9 for name in per_minute},
    )


def row(endpoint: Endpoint) -> Row:
    spent = _Cpu()
    examples: list[Example] = []
    end = time.monotonic() + SECONDS

    def send(name: str, size: int) -> float:
        body = endpoint.shapes[name](size)
        kilobytes = (HEAD + len(body)) / 1024
        seconds = spent.by(endpoint, body)
        if seconds / max(1.0, kilobytes) > LIMIT / 2:  # what else the machine does is not the endpoint's
            seconds = min(seconds, spent.by(endpoint, endpoint.shapes[name](size)))
        examples.append(Example(seconds / max(1.0, kilobytes), name, kilobytes, seconds))
        return examples[-1].ms_per_kilobyte

    for name in endpoint.shapes:
        send(name, 1)
    for name in endpoint.shapes:
        send(name, min(endpoint.most, 2**14))

    @settings(
        max_examples=EXAMPLES * len(endpoint.shapes),
        phases=(Phase.generate, Phase.target),
        database=None,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.sampled_from(sorted(endpoint.shapes)), st.integers(1, endpoint.most.bit_length()))
    def search(name: str, bits: int) -> None:
        if time.monotonic() < end:
            target(send(name, min(endpoint.most, 2**bits)))

    search()
    first = max((each for each in examples if each.kilobytes <= 1), default=None)
    more = max((each for each in examples if each.kilobytes > 1), default=None)
    sys.stderr.write(f"{endpoint.name}: {first} {more} of {len(examples)}\n")
    return {
        "endpoint": endpoint.name,
        "most expensive request up to 1 KB": first.shape if first else "",
        "CPU ms": first.spent if first else 0.0,
        "most expensive larger request": more.shape if more else "",
        "KB sent": more.kilobytes if more else 0.0,
        "CPU ms per KB": more.ms_per_kilobyte if more else 0.0,
        "limited by": endpoint.bound,
        "within limit": _is_within(endpoint, first, more),
    }


def _is_within(endpoint: Endpoint, first: Example | None, more: Example | None) -> bool:
    most = max(LIMIT, first.ms_per_kilobyte) if endpoint.bound and first else LIMIT
    return all(each is None or each.ms_per_kilobyte <= most for each in (first, more))


class _Cpu:
    def __init__(self) -> None:
        self._postmaster = postmaster()

    def by(self, endpoint: Endpoint, body: bytes) -> float:
        """Return the milliseconds of a request."""
        start, here = self._database(), time.process_time()
        endpoint.send(body)
        return (time.process_time() - here + self._database() - start) * 1_000

    def _database(self) -> float:
        """Return the seconds of the running backends, without the database's maintenance processes."""
        return sum(map(_scheduled_seconds, children(self._postmaster)))


_UPKEEP: Final = (b"autovacuum", b"checkpointer", b"background writer", b"walwriter", b"logical replication")


def _scheduled_seconds(pid: int) -> float:
    process = Path(f"/proc/{pid}")
    try:
        title = (process / "cmdline").read_bytes()
        nanoseconds = (process / "schedstat").read_text().split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return 0.0 if any(word in title for word in _UPKEEP) else int(nanoseconds) / 1e9


FORM: Final = "application/x-www-form-urlencoded"


def _places(kind: str) -> str:
    size = django_settings.WEB_SLOTS[kind]
    return f"{Bulkhead(kind, size=size).share} of {size} places at once for a client, in turn with others"


def endpoints() -> list[Endpoint]:
    handed_out = json.loads(handout.path().read_text())
    person = demo_user()
    assert person is not None
    browser, stranger = signed_in(person), Client()
    account, actor = Account.objects.get(slug=SLUG), Actor.of_user(person)
    source = services.create_usage_source(account=account, actor=actor, name="bench")
    _key, key = services.generate_usage_key(source=source, actor=actor)
    with account_scope(account):
        costs = CostSource.objects.values_list("pk", flat=True)[0]
    mcp = _post(stranger, "/api/mcp", handed_out["mcp_key_read"])
    inside, pages = f"/a/{SLUG}", _places("pages")
    questions = f"1,000 a minute and credential; {_places('mcp')}"
    return [
        Endpoint("MCP message", mcp, expensive.MESSAGES, 2**20),
        Endpoint("MCP question", mcp, expensive.QUESTIONS, 2**16, questions),
        Endpoint("MCP questions in a batch", mcp, expensive.BATCHES, 2**13, questions),
        Endpoint("MCP, no token", _post(stranger, "/api/mcp", "x"), expensive.MESSAGES, 2**20),
        Endpoint("OAuth token", _post(stranger, "/oauth/token", type_=FORM), expensive.FORMS, 2**20),
        Endpoint("OAuth registration", _post(stranger, "/oauth/register"), expensive.REGISTRATIONS, 2**20),
        Endpoint("OAuth authorization", _get(browser, "/oauth/authorize"), expensive.AUTHORIZATIONS, 2**16),
        Endpoint(
            "sign-in",
            _post(stranger, "/auth/login/", type_=FORM),
            expensive.TRIES,
            2**20,
            f"30 a minute and address, 10 of them failed; {_places('sign-in')}",
        ),
        Endpoint(
            "sign-up",
            lambda body: _post(Client(), "/auth/signup/", type_=FORM)(body),
            expensive.SIGN_UPS,
            2**20,
            f"20 a minute and address; {_places('sign-in')}",
        ),
        Endpoint(
            "password reset", _post(stranger, "/auth/password/reset/", type_=FORM), expensive.RESETS, 2**20
        ),
        Endpoint("operators", _post(stranger, "/admin/login/", type_=FORM), expensive.FORMS, 2**20),
        Endpoint("metadata", _get(stranger, "/.well-known/oauth-authorization-server"), _OTHERS, 2**16),
        Endpoint("no such page", _get(stranger, "/nothing/"), _OTHERS, 2**16),
        *(
            Endpoint(f"page {page}", _get(browser, f"{inside}/{page}/"), expensive.QUERIES, 2**16, pages)
            for page in ("cost-explorer", "usage", "unit-economics", "forecast", "spend-change")
        ),
        Endpoint(
            "cost tag, preview",
            _post(browser, f"{inside}/cost-tags/preview/", type_=FORM),
            expensive.TAGS,
            2**20,
            pages,
        ),
        Endpoint(
            "cost tag, YAML", _post(browser, f"{inside}/cost-tags/import/", type_=FORM), expensive.YAML, 2**20
        ),
        Endpoint(
            "savings file",
            _post(browser, f"{inside}/savings/import/", type_=expensive.MULTIPART),
            expensive.files(costs),
            2**20,
        ),
        # Last: what they store waits in the inbox, where no answer is kept.
        Endpoint("push", _post(stranger, PUSH, key), {"usual": _usual, **expensive.PUSHES}, 2**22),
        Endpoint(
            "push, gzip", _post(stranger, PUSH, key, HTTP_CONTENT_ENCODING="gzip"), expensive.PACKED, 2**24
        ),
        Endpoint("push, no key", _post(stranger, PUSH, "x"), expensive.PUSHES, 2**20),
    ]


PUSH: Final = "/api/usage/events"
_OTHERS: Final = {name: expensive.QUERIES[name] for name in ("fields", "percents", "a long value")}


def _usual(size: int) -> bytes:
    return bodies(max(1, min(1_000, size // 150)), count=1)[0]


def _post(client: Client, path: str, key: str = "", type_: str = "application/json", **extra: str) -> Send:
    headers: dict[str, Any] = {"HTTP_AUTHORIZATION": f"Bearer {key}", **extra} if key else extra
    return lambda body: client.generic("POST", path, body, content_type=type_, **headers)


def _get(client: Client, path: str) -> Send:
    return lambda body: client.get(f"{path}?{body.decode()}")
