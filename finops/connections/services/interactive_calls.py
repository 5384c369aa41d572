"""Calls that a person waits for: *Test connection*, and fetching a file to map its columns. They run in a child process with
limited time and memory, so that a server that hangs occupies a web worker for at most CONNECTION_TEST_SECONDS."""

from __future__ import annotations

import logging
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from accounts.models import Account
from finops.connections.connector import (
    CheckFinding,
    Configurable,
    Connector,
    ConnectorConfig,
    SourceError,
    SourceUnavailable,
)
from finops.connections.optional_checks import optional_findings
from finops.connections.services.child_answers import ChildAnswer, answer_of, uploads
from finops.costs.focus.normalise import FocusFile
from finops.lib import child_process, time_limit
from finops.lib.child_process import ChildOutcome, ChildResult
from finops.lib.errors import UserError
from finops.lib.jobs import internal_error

logger = logging.getLogger(__name__)

MAX_CALLS: Final = 3
"""Maximum number of concurrent calls of this process, of its 8 slots for pages."""
MAX_MEMORY: Final = child_process.MIN_MEMORY
ANSWER_SECONDS: Final = 5.0
"""Seconds for the child process to report which step took too long."""
_TEST: Final = "The test"
_SAMPLE: Final = "Fetching the file"
_running: Final[set[int]] = set()
_lock: Final = threading.Lock()


class TooManyCalls(UserError):
    """Too many other calls are in progress."""


def check(connector: Configurable, config: ConnectorConfig) -> list[CheckFinding]:
    """Return the connector's findings; if all checks pass, also the optional permissions of its credentials. Raises
    the connector's errors."""
    findings = connector.check(config)
    return [*findings, *(optional_findings(config) if all(each.is_ok for each in findings) else ())]


def check_in_child(
    connector: Configurable, config: ConnectorConfig, *, account: Account
) -> list[CheckFinding]:
    """Run `check` in a child process. Raises TooManyCalls if the account has another call in progress, or too many
    others are; SourceError if the process took too much time or memory, or died."""
    with tempfile.TemporaryDirectory(prefix="test-", dir=uploads()) as folder:
        return _call("check_to_folder", connector, config, Path(folder), account, _TEST).or_raise().findings


def run_connection_test(
    kind: Configurable, config: ConnectorConfig, *, account: Account, in_child: bool
) -> list[CheckFinding]:
    """Return the findings of *Test connection*; any other error is a finding too. `in_child` limits time and memory.
    Raises TooManyCalls."""
    try:
        return check_in_child(kind, config, account=account) if in_child else check(kind, config)
    except TooManyCalls:
        raise
    except UserError as error:
        return [CheckFinding("Connect", is_ok=False, fix=error.message)]
    except Exception:
        logger.exception("connections: the test of %s failed", kind.name)
        return [CheckFinding("Connect", is_ok=False, fix=internal_error("test"))]


def newest_file_in_child(
    connector: Connector[Any], config: ConnectorConfig, folder: Path, *, account: Account
) -> FocusFile:
    """Fetch the connector's `newest_file` into `folder`. Raises its errors, and those of `check_in_child`."""
    answer = _call("newest_file_to_folder", connector, config, folder, account, _SAMPLE)
    ((path, name),) = answer.or_raise().files
    return FocusFile(Path(path), name)


def _call(
    function: str,
    connector: Configurable,
    config: ConnectorConfig,
    folder: Path,
    account: Account,
    what: str,
) -> ChildAnswer:
    seconds = settings.CONNECTION_TEST_SECONDS
    with _place(account):
        result = child_process.run(
            f"{__name__}.{function}",
            connector,
            config,
            folder,
            seconds,
            name=f"connection test of account {account.pk}",
            memory=min(MAX_MEMORY, child_process.memory_limit()),
            deadline=time.monotonic() + seconds + ANSWER_SECONDS,
        )
    if result.end is not ChildOutcome.DONE:
        raise _error_of_end(result, what)
    return ChildAnswer.read(folder / "answer")


@contextmanager
def _place(account: Account) -> Iterator[None]:
    with _lock:
        if account.pk in _running:
            raise TooManyCalls("Another test of this account is in progress. Try again when it has finished.")
        if len(_running) >= MAX_CALLS:
            raise TooManyCalls("Other connections are being tested. Try again in a minute.")
        _running.add(account.pk)
    try:
        yield
    finally:
        with _lock:
            _running.discard(account.pk)


def check_to_folder(connector: Configurable, config: ConnectorConfig, folder: Path, seconds: float) -> None:
    """Entry point of the child process."""

    def findings() -> ChildAnswer:
        with time_limit.limit_time(seconds, _too_long(_TEST, seconds)):
            return ChildAnswer(findings=check(connector, config))

    answer_of(findings, "connection test").write(folder / "answer")


def newest_file_to_folder(
    connector: Connector[Any], config: ConnectorConfig, folder: Path, seconds: float
) -> None:
    """Entry point of the child process."""

    def newest() -> ChildAnswer:
        with time_limit.limit_time(seconds, _too_long(_SAMPLE, seconds)):
            file = connector.newest_file(config, folder)
        return ChildAnswer(files=[(str(file.path), file.name)])

    answer_of(newest, "fetch of a sample").write(folder / "answer")


def _too_long(what: str, seconds: float) -> str:
    advice = "For a place with many files, enter a longer prefix."
    if what == _SAMPLE:
        advice = "If the file is large, upload a smaller one with the same columns."
    return (
        f"{what} took longer than {seconds:g} seconds and was stopped. Check the address, and that a "
        f"firewall lets this server reach it. {advice}"
    )


def _error_of_end(result: ChildResult, what: str) -> SourceError:
    if result.end is ChildOutcome.TIME:
        return SourceUnavailable(_too_long(what, settings.CONNECTION_TEST_SECONDS))
    if result.end is ChildOutcome.MEMORY:
        limit = min(MAX_MEMORY, child_process.memory_limit()) >> 20
        return SourceError(
            f"{what} took more than {limit:,} MB of memory and was stopped. Enter a longer prefix, or export smaller files."
        )
    return SourceUnavailable(f"{what} stopped unexpectedly ({result.cause}). Try again.")
