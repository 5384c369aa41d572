"""The interface of a destination: one kind of storage that exports are written to. Pure; independent of accounts and the
database."""

from __future__ import annotations

import secrets
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Generic, TypeVar

import msgspec

from finops.connections.checks import check_list
from finops.connections.connector import CheckFinding, ConnectorConfig, SetupStep, SourceError
from finops.connections.transports.bucket import StorageBucket

C = TypeVar("C", bound=ConnectorConfig)

Folder = Annotated[
    str,
    msgspec.Meta(
        title="Folder",
        description="Folder of the exports. Leave empty for the top of the bucket.",
        examples=["finops"],
        pattern=r"^(?!(.*/)?\.\.?(/|$))[^\\\x00-\x1f]*$",
        max_length=500,
    ),
]
_TEST_NAME: Final = "finops-test-"


class Destination(ABC, Generic[C]):
    """One kind of storage. Instances have no state: every method gets the config, with its secrets unsealed."""

    name: ClassVar[str]
    """Never changes: stored with each export."""
    title: ClassVar[str]
    icon: ClassVar[str] = "bucket"
    docs_url: ClassVar[str] = ""
    description: ClassVar[str] = ""
    order: ClassVar[int] = 100
    Config: ClassVar[type[ConnectorConfig]]

    @abstractmethod
    def steps(self, external_id: str) -> Sequence[SetupStep]:
        """Return the steps at the provider, in order. `external_id` is for a role's trust policy."""

    @abstractmethod
    def open(self, config: C) -> StorageBucket:
        """Open the storage folder. Raises SourceError, AccessError and SourceUnavailable."""

    def is_offered(self) -> bool:
        """Whether this server offers the destination."""
        return True

    def check(self, config: C) -> list[CheckFinding]:
        """*Test connection*: test each permission with a real operation, also after one that is missing. The test object is deleted."""
        with check_list() as checks:
            bucket = checks.attempt("Sign in", lambda: self.open(config))
            with bucket:
                checks.findings.extend(_check_permissions(bucket))
        return checks.findings


def _check_permissions(bucket: StorageBucket) -> list[CheckFinding]:
    key = f"{_TEST_NAME}{secrets.token_hex(8)}.txt"
    with tempfile.TemporaryDirectory(prefix="finops-test-") as folder:
        file = Path(folder, "object")
        file.write_text("Written by a connection test. It can be deleted.\n")
        findings = _attempt(f"Write to {bucket.url}", lambda: bucket.put(key, file))
        is_written = findings[-1].is_ok
        findings += _attempt(f"List {bucket.url}", lambda: _find(bucket, key, is_written=is_written))
        return findings + _attempt(f"Delete in {bucket.url}", lambda: bucket.delete(key))


def _find(bucket: StorageBucket, key: str, *, is_written: bool) -> None:
    listed = [each.key for each in bucket.objects(key)]
    if is_written and key not in listed:
        raise SourceError("The test object was written but is not listed. Check the bucket and the folder.")


def _attempt(title: str, action: Callable[[], Any]) -> list[CheckFinding]:
    with check_list() as checks:
        checks.attempt(title, action)
    return checks.findings
