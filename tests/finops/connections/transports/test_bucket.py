"""Rules of every bucket, with a real S3 server and with folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from finops.connections.connector import (
    AccessError,
    Fetch,
    MonthConflict,
    SourceError,
    SourceUnavailable,
    SyncCancellation,
)
from finops.connections.transports import bucket as transport
from finops.connections.transports.bucket import BucketObject, StorageBucket, objects_fingerprint, safe_key
from finops.connections.transports.local import open_folder
from tests.finops.connections.conftest import S3TestBucket
from tests.servers import free_port


@pytest.fixture(params=["s3", "folder"])
def bucket_and_put(
    request: pytest.FixtureRequest, tmp_path: Path, settings: Settings
) -> Iterator[tuple[StorageBucket, Any]]:
    """A bucket below exports/, and what puts objects into it by their whole key."""
    if request.param == "s3":
        s3_bucket: S3TestBucket = request.getfixturevalue("s3")
        with s3_bucket.open("exports") as opened:
            yield opened, s3_bucket.put
        return
    root = tmp_path / "source"

    def put(key: str, content: bytes = b"content") -> None:
        path = root / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    put("exports/.keep", b"")
    (root / "exports/.keep").unlink()
    settings.CONNECTION_FOLDERS = [str(root)]
    with open_folder(str(root / "exports")) as bucket:
        yield bucket, put


def _keys(bucket: StorageBucket) -> list[str]:
    return [each.key for each in bucket.objects()]


def test_a_listing_has_what_is_below_the_prefix_and_nothing_else(
    bucket_and_put: tuple[StorageBucket, Any],
) -> None:
    bucket, upload = bucket_and_put
    for key in ("exports/b/2.csv", "exports/a.csv", "exports-old/a.csv", "other/a.csv"):
        upload(key, key.encode())

    assert [(each.key, each.bytes) for each in bucket.objects()] == [("a.csv", 13), ("b/2.csv", 15)]
    assert [each.key for each in bucket.objects("b/")] == ["b/2.csv"]


def test_a_download_is_whole_and_says_how_far_it_is(
    bucket_and_put: tuple[StorageBucket, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, upload = bucket_and_put
    content = os.urandom(2_500_000)
    upload("exports/x/large file.csv", content)
    upload("exports/y/empty.csv", b"")
    for module in ("bucket", "s3", "local"):
        monkeypatch.setattr(f"finops.connections.transports.{module}.CHUNK_BYTES", 1_000_000)
    steps: list[int] = []

    files = bucket.download_month(bucket.objects(), Fetch(tmp_path, steps.append))

    assert [(each.path.name, each.name) for each in files] == [
        ("00001-large_file.csv", "x/large file.csv"),
        ("00002-empty.csv", "y/empty.csv"),
    ]
    assert files[0].path.read_bytes() == content
    assert files[1].path.read_bytes() == b""
    assert steps == [1_000_000, 1_000_000, 500_000]


def test_an_object_that_was_replaced_after_it_was_listed_is_a_conflict(
    bucket_and_put: tuple[StorageBucket, Any], tmp_path: Path
) -> None:
    bucket, upload = bucket_and_put
    upload("exports/a.csv", b"before")
    before = bucket.objects()
    upload("exports/a.csv", b"behind")
    os.utime(tmp_path)

    with pytest.raises(MonthConflict):
        bucket.download_month(before, Fetch(tmp_path))
    with pytest.raises(MonthConflict):
        bucket.read(before[0])
    assert objects_fingerprint(bucket.objects()) != objects_fingerprint(before)


def test_an_object_that_was_replaced_while_it_was_read_is_a_conflict(
    bucket_and_put: tuple[StorageBucket, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, upload = bucket_and_put
    upload("exports/a.csv", b"a" * 3_000)
    for module in ("bucket", "s3", "local"):
        monkeypatch.setattr(f"finops.connections.transports.{module}.CHUNK_BYTES", 1_000)

    with pytest.raises(MonthConflict):
        bucket.download_month(
            bucket.objects(), Fetch(tmp_path, lambda _bytes: upload("exports/a.csv", b"b" * 3_000))
        )


def test_an_object_that_is_gone_is_a_conflict(
    bucket_and_put: tuple[StorageBucket, Any], tmp_path: Path
) -> None:
    bucket, _ = bucket_and_put

    with pytest.raises(MonthConflict):
        bucket.download_month([BucketObject("gone.csv", 3, '"0"')], Fetch(tmp_path))


def test_an_exception_of_progress_is_raised(
    bucket_and_put: tuple[StorageBucket, Any], tmp_path: Path
) -> None:
    bucket, upload = bucket_and_put
    upload("exports/a.csv")

    def cancel(_bytes: int) -> None:
        raise SyncCancellation

    with pytest.raises(SyncCancellation):
        bucket.download_month(bucket.objects(), Fetch(tmp_path, cancel))


def test_limits_of_objects_files_bytes_and_manifests_hold(
    bucket_and_put: tuple[StorageBucket, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket, upload = bucket_and_put
    for number in range(3):
        upload(f"exports/{number}.csv", b"12345")
    objects = bucket.objects()

    with pytest.raises(SourceError, match="5 bytes; at most 4"):
        bucket.read(objects[0], limit=4)
    monkeypatch.setattr(transport, "MAX_MONTH_BYTES", 14)
    with pytest.raises(SourceError, match="3 files of 15 bytes"):
        bucket.download_month(objects, Fetch(tmp_path))
    monkeypatch.setattr(transport, "MAX_MONTH_FILES", 2)
    with pytest.raises(SourceError, match="3 files of 15 bytes; at most 2 of 14 are read"):
        bucket.download_month(objects[:0] + objects, Fetch(tmp_path))
    monkeypatch.setattr(transport, "MAX_OBJECTS", 2)
    with pytest.raises(SourceError, match="more than 2 objects"):
        bucket.objects()


@pytest.mark.parametrize(
    "key", ["../a", "a/../../b", "/etc/passwd", "a//b", "", "a\\b", "a\nb", "x" * 1_025, "."]
)
def test_a_key_that_a_path_could_leave_its_folder_by_is_refused(key: str) -> None:
    with pytest.raises(SourceError, match="not a valid key"):
        safe_key(key)


def test_a_key_of_a_manifest_must_lie_below_the_prefix(s3: S3TestBucket) -> None:
    with s3.open("exports/focus") as bucket:
        assert bucket.key_of(f"s3://{s3.name}/exports/focus/data/1.csv") == "data/1.csv"
        assert bucket.key_of("exports/focus/data/1.csv") == "data/1.csv"
        for key, text in (
            ("s3://another/exports/focus/data/1.csv", "another bucket"),
            ("exports/other/1.csv", "outside of"),
            ("exports/focus-2/1.csv", "outside of"),
            ("exports/focus/../../secret", "not a valid key"),
            ("/exports/focus/1.csv", "not a valid key"),
        ):
            with pytest.raises(SourceError, match=text) as error:
                bucket.key_of(key)
            assert key.removeprefix("s3://another/") in str(error.value)


# S3


def test_each_page_of_a_long_listing_is_read(s3: S3TestBucket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("finops.connections.transports.s3.PAGE", 2)
    for number in range(5):
        s3.put(f"{number}.csv")

    with s3.open() as bucket:
        assert _keys(bucket) == [f"{number}.csv" for number in range(5)]


def test_a_bucket_that_is_not_there_says_so(s3: S3TestBucket) -> None:
    s3.name = "no-such-bucket-at-all"
    with s3.open() as bucket, pytest.raises(SourceError, match="the bucket does not exist"):
        bucket.objects()


def test_a_server_that_does_not_answer_is_unavailable(s3: S3TestBucket) -> None:
    with (
        s3.open(endpoint=f"http://127.0.0.1:{free_port()}") as bucket,
        pytest.raises(SourceUnavailable, match="could not be reached"),
    ):
        bucket.objects()


def test_nothing_is_opened_without_credentials(s3: S3TestBucket) -> None:
    from finops.connections.transports.s3 import S3Credentials, open_s3

    with pytest.raises(AccessError, match="access key"):
        open_s3("bucket", "", S3Credentials())


# Folders


def test_a_folder_must_lie_beneath_one_that_the_operator_names(tmp_path: Path, settings: Settings) -> None:
    allowed, other = tmp_path / "allowed", tmp_path / "other"
    for folder in (allowed, other):
        folder.mkdir()
    (allowed / "out").symlink_to(other)
    settings.CONNECTION_FOLDERS = []
    with pytest.raises(AccessError, match="No folders are allowed"):
        open_folder(str(allowed))
    settings.CONNECTION_FOLDERS = [str(allowed)]
    for outside in (
        str(other),
        str(allowed / "out"),
        str(allowed / ".." / "other"),
        "allowed",
        f"{allowed}-2",
    ):
        with pytest.raises(AccessError, match="CONNECTION_FOLDERS"):
            open_folder(outside)
    with pytest.raises(SourceError, match="does not exist on this server"):
        open_folder(str(allowed / "gone"))


def test_links_do_not_lead_out_of_a_folder(tmp_path: Path, settings: Settings) -> None:
    allowed, secret = tmp_path / "allowed", tmp_path / "secret"
    allowed.mkdir()
    secret.mkdir()
    (secret / "key").write_text("secret")
    (allowed / "a.csv").write_text("fine")
    (allowed / "same.csv").symlink_to(allowed / "a.csv")
    (allowed / "file.csv").symlink_to(secret / "key")
    (allowed / "folder").symlink_to(secret)
    settings.CONNECTION_FOLDERS = [str(allowed)]
    bucket = open_folder(str(allowed))
    listing = bucket.objects()

    assert [each.key for each in listing] == ["a.csv", "same.csv"]

    (allowed / "a.csv").unlink()
    (allowed / "a.csv").symlink_to(secret / "key")
    with pytest.raises(MonthConflict):
        bucket.read(listing[0])
