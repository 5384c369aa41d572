"""Attempts and time-outs of clients of AWS are set in code; the SDK's other variables are documented."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import s3fs
from botocore.configprovider import BOTOCORE_DEFAUT_SESSION_VARIABLES, DEFAULT_S3_CONFIG_VARS
from django.conf import settings

from finops.lib import time_limit
from finops.lib.object_storage import ATTEMPTS, call, open_filesystem
from tests.receivers import Receiver, hang, http_receiver
from tests.s3 import variables

ROOT = Path(settings.BASE_DIR)
CLIENT_SETTINGS = {"connect_timeout", "read_timeout", "retries"}
OPENED_BY = {
    "finops/connections/transports/local.py": {"filesystem"},
    "finops/connections/transports/s3.py": {"S3FileSystem"},
    "finops/lib/object_storage.py": {"url_to_fs"},
}
"""The functions of fsspec that open a file system, by module. The second one has its settings in `_client_config`."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    with http_receiver() as receiver:
        environment = variables(f"http://{receiver.host}:{receiver.port}")
        for name, value in {**environment, "AWS_MAX_ATTEMPTS": "7", "AWS_RETRY_MODE": "legacy"}.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield receiver
    s3fs.S3FileSystem.clear_instance_cache()


def test_a_bucket_that_is_down_is_asked_as_often_as_the_code_says(server: Receiver, tmp_path: Path) -> None:
    server.answer(503)
    filesystem, root = open_filesystem("s3://lake/facts")
    with pytest.raises(OSError, match=r"503|Unavailable"):
        call(filesystem, "get_file", f"{root}/one", str(tmp_path / "one"))
    assert len(server.requests) == ATTEMPTS


def test_a_bucket_that_does_not_respond_is_left_at_the_end_of_the_time_limit(
    server: Receiver, tmp_path: Path
) -> None:
    server.behave = hang
    filesystem, root = open_filesystem("s3://lake/facts")
    with time_limit.limit_time(0.1), pytest.raises(TimeoutError):
        call(filesystem, "get_file", f"{root}/one", str(tmp_path / "one"))
    with time_limit.limit_time(0), pytest.raises(time_limit.TimeLimitError):
        call(filesystem, "get_file", f"{root}/one", str(tmp_path / "one"))


def calls_of_product() -> Iterator[tuple[str, str, set[str | None]]]:
    """Yield the calls in modules that open a client or a file system: module, function, and the names of arguments."""
    for package in ("accounts", "finops", "ingestion", "mcpserver"):
        for file in (ROOT / package).rglob("*.py"):
            text = file.read_text()
            if not any(
                name in text for name in ("create_client", "S3FileSystem", "url_to_fs", "filesystem(")
            ):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Call):
                    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
                    yield str(file.relative_to(ROOT)), name, {each.arg for each in node.keywords}


def test_every_client_of_aws_has_its_attempts_and_time_outs_in_code() -> None:
    calls = list(calls_of_product())
    configs = [names for _, function, names in calls if function == "Config"]
    clients = [(module, names) for module, function, names in calls if function == "create_client"]
    assert [module for module, names in clients if "config" not in names] == []
    assert [names for names in configs if not names >= CLIENT_SETTINGS] == []
    assert len(configs) == len(clients) > 0
    opened: dict[str, set[str]] = {}
    for module, function, _ in calls:
        if function in {"filesystem", "S3FileSystem", "url_to_fs"}:
            opened.setdefault(module, set()).add(function)
    assert opened == OPENED_BY


def test_every_variable_of_the_sdk_is_documented() -> None:
    variables_of_sdk = {
        name
        for _, names, *_ in (*BOTOCORE_DEFAUT_SESSION_VARIABLES.values(), *DEFAULT_S3_CONFIG_VARS.values())
        for name in (names if isinstance(names, list) else [names])
        if name is not None
    }
    text = (ROOT / "docs" / "operations.md").read_text()
    assert {name for name in variables_of_sdk if f"`{name}`" not in text} == set()
