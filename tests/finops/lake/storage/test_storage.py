from __future__ import annotations

import socket
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
import s3fs
from django.core.exceptions import ImproperlyConfigured
from moto.server import ThreadedMotoServer
from pytest_django import Settings

from finops.lake.engine import engine
from finops.lake.models import LakeSegment
from finops.lake.storage import garbage_collection
from finops.lake.storage.storage import storage
from finops.lib import clock
from tests.cast import Cast
from tests.finops.lake.facts import (
    FEBRUARY,
    JANUARY,
    as_dict,
    billed_by,
    line,
    run_query,
    store,
    total,
    write,
)
from tests.s3 import variables

CONTENT = b"facts"


# Local


@pytest.mark.parametrize("prefix", ["", "file://"])
def test_a_local_lake_is_a_directory(settings: Settings, tmp_path: Path, prefix: str) -> None:
    settings.LAKE_URL = f"{prefix}{tmp_path}/lake"
    _put("1/cost/a.parquet")
    assert (tmp_path / "lake/1/cost/a.parquet").read_bytes() == CONTENT
    assert [file.path for file in storage().files()] == ["1/cost/a.parquet"]
    storage().delete("1/cost/a.parquet")
    storage().delete("1/cost/a.parquet")
    assert list(storage().files()) == []


def test_a_lake_under_a_pattern_is_refused(settings: Settings, tmp_path: Path) -> None:
    settings.LAKE_URL = str(tmp_path / "lake[1]")
    with pytest.raises(ImproperlyConfigured, match="patterns"):
        storage()


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["it's a lake", "service=EC2", "100% ☁", "a;b--"])
def test_a_directory_with_any_name_serves(cast: Cast, settings: Settings, tmp_path: Path, name: str) -> None:
    settings.LAKE_URL = str(tmp_path / name)
    store(cast.account, [line(JANUARY, 1, service="S3")])
    assert as_dict(run_query(cast.account, billed_by("service"))) == {"S3": 1}


def _put(path: str) -> None:
    file = storage().new_file()
    file.write_bytes(CONTENT)
    storage().put(file, path)


# S3


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    """A real S3 server on loopback, and a client to look behind the lake's back."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables(f"http://{host}:{port}").items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        yield boto3.client("s3")
        s3fs.S3FileSystem.clear_instance_cache()
    server.stop()


@pytest.fixture
def bucket(s3: Any, settings: Settings, tmp_path: Path) -> str:
    name = f"lake-{tmp_path.name}".lower().replace("_", "-")[:60].rstrip("-")
    s3.create_bucket(Bucket=name)
    settings.LAKE_URL = f"s3://{name}/facts"
    settings.VAR_DIR = tmp_path
    return name


def _cached_files(root: Path) -> set[str]:
    return {file.name for file in root.glob("cache/*/files/**/*.parquet")}


@pytest.mark.django_db
def test_a_lake_on_s3_answers(cast: Cast, bucket: str, s3: Any) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [line(FEBRUARY, 2)], month=FEBRUARY)
    keys = [item["Key"] for item in s3.list_objects_v2(Bucket=bucket)["Contents"]]
    assert sorted(keys) == sorted(f"facts/{row.path}" for row in LakeSegment.objects.unscoped())
    assert total(cast.account) == 3


@pytest.mark.django_db
def test_a_machine_that_did_not_write_a_segment_downloads_it_once(
    cast: Cast, bucket: str, s3: Any, settings: Settings, tmp_path: Path
) -> None:
    store(cast.account, [line(JANUARY, 1)])
    settings.VAR_DIR = tmp_path / "another"
    assert total(cast.account) == 1
    name = Path(LakeSegment.objects.unscoped().get().path).name
    assert _cached_files(tmp_path / "another") == {name}
    s3.delete_object(Bucket=bucket, Key=f"facts/{LakeSegment.objects.unscoped().get().path}")
    assert total(cast.account) == 1


@pytest.mark.django_db
@pytest.mark.parametrize("content", [None, b"something else"])
def test_a_lost_or_changed_remote_segment_is_a_clear_error(
    cast: Cast, bucket: str, s3: Any, settings: Settings, tmp_path: Path, content: bytes | None
) -> None:
    store(cast.account, [line(JANUARY, 1)])
    key = f"facts/{LakeSegment.objects.unscoped().get().path}"
    s3.delete_object(Bucket=bucket, Key=key)
    if content is not None:
        s3.put_object(Bucket=bucket, Key=key, Body=content)
    settings.VAR_DIR = tmp_path / "another"
    with pytest.raises(engine.LakeUnavailable, match="cannot be read right now"):
        total(cast.account)
    assert _cached_files(tmp_path / "another") == set()


@pytest.mark.django_db
def test_a_storage_out_of_reach_is_a_clear_error(
    cast: Cast, bucket: str, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(cast.account, [line(JANUARY, 1)])
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    s3fs.S3FileSystem.clear_instance_cache()
    settings.VAR_DIR = tmp_path / "another"
    with pytest.raises(engine.LakeUnavailable, match="Try again in a minute"):
        total(cast.account)
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.django_db
def test_the_sweep_clears_s3_and_the_cache(cast: Cast, bucket: str, s3: Any, tmp_path: Path) -> None:
    store(cast.account, [line(JANUARY, 1)])
    store(cast.account, [line(JANUARY, 2)])
    write(cast.account, [line(JANUARY, 4)])
    with clock.frozen(datetime.now(UTC) + timedelta(days=15)):
        assert garbage_collection.sweep() == garbage_collection.SweepResult(retired=1, orphans=1)
    live = LakeSegment.objects.unscoped().get()
    assert [item["Key"] for item in s3.list_objects_v2(Bucket=bucket)["Contents"]] == [f"facts/{live.path}"]
    assert _cached_files(tmp_path) == {Path(live.path).name}
    assert total(cast.account) == 2
