from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from hypothesis import settings as hypothesis_settings

from accounts.models import Account, User
from accounts.scoping import account_scope
from finops.lib import clock
from finops.lib.ratelimit import rate_limiter
from tests.cast import Cast, make_cast, signed_in
from tests.database_template import first_migrates
from tests.examples import SOAK, examples
from tests.factories.days import NOON
from tests.servers import live_server_process

__all__ = ["live_server_process"]


# No deadline: the time of an example depends on the load of the machine. The suite runs the same examples every time, so that a
# failure is caused by the commit; the soak runs random ones.
hypothesis_settings.register_profile(
    "suite", hypothesis_settings.default, max_examples=examples(100), deadline=None, derandomize=not SOAK
)
hypothesis_settings.load_profile("suite")


@pytest.fixture(scope="session")
def _turn(django_db_modify_db_settings: None) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        stack.enter_context(first_migrates())
        yield stack


@pytest.fixture(scope="session")
def django_db_setup(_turn: ExitStack, django_db_setup: None, django_db_blocker: Any) -> None:
    """Set up the database as pytest-django does, by migrations, or by a copy if another worker has run them."""
    with django_db_blocker.unblock():
        _turn.close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """In the soak: how many inputs each test sent, of those that count them."""
    passed = terminalreporter.getreports("passed") if SOAK else []
    counts = {
        report.nodeid: count
        for report in passed
        for name, count in report.user_properties
        if name == "inputs"
    }
    for nodeid, count in sorted(counts.items()):
        terminalreporter.write_line(f"{count:>9,} inputs {nodeid}")
    if counts:
        terminalreporter.write_line(f"{sum(counts.values()):>9,} inputs in all")


@pytest.fixture
def cast(db: None) -> Cast:
    return make_cast()


@pytest.fixture
def acme(cast: Cast) -> Iterator[Account]:
    """Acme in scope, at noon of 20 March 2026, a Friday."""
    with account_scope(cast.account), clock.frozen(NOON):
        yield cast.account


@pytest.fixture
def member(cast: Cast) -> Client:
    return signed_in(cast.member)


@pytest.fixture
def operator(db: None) -> Client:
    return signed_in(User.objects.create_superuser("operator@example.com", "a long enough secret"))


@pytest.fixture(autouse=True)
def _fresh_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset rate limits, because all tests use one address, and let no window of a limit end within a test."""
    rate_limiter.cache_clear()
    cache.clear()
    start = int(time.time())
    monkeypatch.setattr("django_ratelimit.core._get_window", lambda value, period: start + period)


@pytest.fixture
def client_for() -> Callable[[User], Client]:
    return signed_in


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of tests that are coroutines: asyncio, as the web server's."""
    return "asyncio"
