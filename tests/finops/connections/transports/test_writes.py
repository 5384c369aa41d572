"""Objects are written, replaced and deleted in the same way in every kind of bucket, and a refusal names its
permission."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from finops.connections.azure import AzureBlobConfig, open_container
from finops.connections.connector import AccessError, SourceError
from finops.connections.google import GoogleBucketConfig, google_credential
from finops.connections.transports.bucket import StorageBucket
from finops.connections.transports.gcs import WRITE_SCOPE, GcsBucket
from finops.connections.transports.local import open_folder
from tests.finops.connections.azurite import AzureContainer
from tests.finops.connections.conftest import S3TestBucket
from tests.finops.connections.gcs_emulator import GcsTestBucket, key_file
from tests.finops.connections.replay_server import ReplayServer, Reply


@pytest.fixture(params=["s3", "azure", "google", "folder"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Iterator[StorageBucket]:
    """An empty bucket below out/."""
    with _open_out(request, tmp_path, settings) as opened:
        yield opened


def _open_out(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> StorageBucket:
    if request.param == "s3":
        s3_bucket: S3TestBucket = request.getfixturevalue("s3")
        return s3_bucket.open("out")
    if request.param == "azure":
        container: AzureContainer = request.getfixturevalue("container")
        config = AzureBlobConfig(access="sas_url", sas_url=container.sas_url(permissions="rwdl"))
        return open_container(config, "out")
    if request.param == "google":
        gcs: GcsTestBucket = request.getfixturevalue("gcs")
        google = GoogleBucketConfig(bucket=gcs.name, key=key_file())
        return GcsBucket(gcs.name, "out", google_credential(google, WRITE_SCOPE))
    root = tmp_path / "target"
    (root / "out").mkdir(parents=True)
    settings.CONNECTION_FOLDERS = [str(root)]
    return open_folder(str(root / "out"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file.parquet"
    path.write_bytes(b"one")
    return path


def test_an_object_is_written_whole_replaced_and_deleted(bucket: StorageBucket, file: Path) -> None:
    bucket.put("data/BILLING_PERIOD=2026-05/a b.parquet", file)
    file.write_bytes(b"another")
    bucket.put("data/BILLING_PERIOD=2026-05/a b.parquet", file)
    bucket.put("other.json", file)

    [first, second] = bucket.objects()
    assert (first.key, bucket.read(first)) == ("data/BILLING_PERIOD=2026-05/a b.parquet", b"another")

    bucket.delete(first.key)
    bucket.delete(first.key)
    assert bucket.objects() == [second]


def test_a_file_of_several_parts_arrives_byte_by_byte(
    bucket: StorageBucket, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.connections.transports.s3.PART_BYTES", 5 * 1024**2)
    content = os.urandom(12 * 1024**2 + 7)
    file.write_bytes(content)

    bucket.put("large.bin", file)

    [stored] = bucket.objects()
    assert bucket.read(stored, limit=len(content)) == content


def test_an_upload_that_is_broken_off_leaves_no_object(
    s3: S3TestBucket, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("finops.connections.transports.s3.PART_BYTES", 5 * 1024**2)
    file.write_bytes(os.urandom(11 * 1024**2))
    with s3.open("out") as opened:
        call, sent = opened._call, list[str]()

        def break_off(method: str, **arguments: Any) -> Any:
            sent.append(method)
            if sent.count("upload_part") == 2 and method == "upload_part":
                raise ConnectionError("broken")
            return call(method, **arguments)

        monkeypatch.setattr(opened, "_call", break_off)
        with pytest.raises(SourceError):
            opened.put("large.bin", file)

        assert opened.objects() == []
    assert "Uploads" not in s3.client.list_multipart_uploads(Bucket=s3.name)


@pytest.mark.parametrize("key", ["../a", "a//b", "a/../../b", ""])
def test_no_key_leaves_the_prefix(bucket: StorageBucket, file: Path, key: str) -> None:
    with pytest.raises(SourceError, match="not a valid key"):
        bucket.put(key, file)
    with pytest.raises(SourceError, match="not a valid key"):
        bucket.delete(key)


def test_no_link_of_a_folder_is_written_through(tmp_path: Path, settings: Settings, file: Path) -> None:
    root, outside = tmp_path / "target", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (root / "link").symlink_to(outside)
    settings.CONNECTION_FOLDERS = [str(root)]

    with open_folder(str(root)) as opened, pytest.raises(AccessError, match="out of the folder"):
        opened.put("link/a.parquet", file)
    assert list(outside.iterdir()) == []


def test_a_bucket_that_is_not_there_says_so(s3: S3TestBucket, file: Path) -> None:
    s3.name = "gone-since"
    with s3.open() as opened, pytest.raises(SourceError, match="does not exist"):
        opened.put("a", file)


@pytest.mark.parametrize(("permissions", "action"), [("rdl", "put"), ("rwl", "delete")])
def test_a_permission_that_azure_lacks_names_the_role(
    container: AzureContainer, file: Path, permissions: str, action: str
) -> None:
    container.put("a")
    config = AzureBlobConfig(access="sas_url", sas_url=container.sas_url(permissions=permissions))
    with open_container(config, "") as opened, pytest.raises(AccessError) as error:
        opened.put("b", file) if action == "put" else opened.delete("a")
    assert "Storage Blob Data Contributor" in error.value.message
    assert "Read, Write, Delete and List" in error.value.message


@pytest.mark.parametrize(
    ("method", "permission"), [("put", "storage.objects.create"), ("delete", "storage.objects.delete")]
)
def test_a_permission_that_google_refuses_is_named_with_its_role(
    replay: ReplayServer, settings: Settings, file: Path, method: str, permission: str
) -> None:
    settings.CONNECTOR_BASE_URLS = {"google_storage": replay.url, "google_storage_token": replay.url}
    replay.routes["/token"] = lambda _request: Reply.of_json({"access_token": "token-1"})
    replay.routes["/upload/storage/v1/b/acme/o"] = lambda _request: Reply.of_json({}, 403)
    replay.routes["/storage/v1/b/acme/o/a"] = lambda _request: Reply.of_json({}, 403)
    google = GoogleBucketConfig(bucket="acme", key=key_file())

    opened = GcsBucket("acme", "", google_credential(google, WRITE_SCOPE))
    with pytest.raises(AccessError) as error:
        opened.put("a", file) if method == "put" else opened.delete("a")
    assert permission in error.value.message
    assert "roles/storage.objectUser" in error.value.message
