"""The parts of a bucket that are specific to Google: sign-in, and errors of its storage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from finops.connections.connector import AccessError, Fetch, MonthConflict, SourceError
from finops.connections.connectors import connector_of
from finops.connections.connectors.google_bucket import GoogleBucketFilesConfig
from tests.finops.connections.gcs_emulator import ACCOUNT, key_file
from tests.finops.connections.replay_server import ReplayServer, Reply

CONNECTOR = connector_of("google_bucket")
LISTING = "/storage/v1/b/acme-billing/o"


@pytest.fixture
def google(replay: ReplayServer, settings: Settings) -> ReplayServer:
    """Storage and token server, with one object in the bucket."""
    settings.CONNECTOR_BASE_URLS = {"google_storage": replay.url, "google_storage_token": replay.url}
    replay.routes["/token"] = lambda _request: Reply.of_json({"access_token": "token-1"})
    item = {"name": "2026/05/1.csv", "generation": "17", "size": "3", "updated": "2026-05-02T00:00:00Z"}
    replay.routes[LISTING] = lambda _request: Reply.of_json({"items": [item]})
    return replay


def config(**values: Any) -> GoogleBucketFilesConfig:
    fields = {"bucket": "acme-billing", "pattern": "{year}/{month}/*", "key": key_file(), **values}
    return GoogleBucketFilesConfig(**fields)


def test_a_listing_signs_in_once_and_an_object_is_read_as_the_generation_that_was_listed(
    google: ReplayServer, tmp_path: Path
) -> None:
    google.routes[f"{LISTING}/2026%2F05%2F1.csv"] = lambda _request: Reply(206, b"abc")

    [month] = CONNECTOR.months(config())
    [file] = CONNECTOR.fetch(config(), month, Fetch(tmp_path))

    assert file.path.read_bytes() == b"abc"
    assert google.paths()[:2] == ["/token", LISTING]
    read = google.requests[-1]
    assert (read.param("generation"), read.param("ifGenerationMatch")) == ("17", "17")
    assert (read.headers["range"], read.headers["authorization"]) == ("bytes=0-2", "Bearer token-1")


@pytest.mark.parametrize("status", [404, 412, 416])
def test_an_object_that_is_another_now_is_a_conflict(
    google: ReplayServer, tmp_path: Path, status: int
) -> None:
    google.routes[f"{LISTING}/2026%2F05%2F1.csv"] = lambda _request: Reply.of_json({}, status)

    with pytest.raises(MonthConflict):
        CONNECTOR.fetch(config(), CONNECTOR.months(config())[0], Fetch(tmp_path))


def test_an_answer_longer_than_requested_is_not_read(google: ReplayServer, tmp_path: Path) -> None:
    google.routes[f"{LISTING}/2026%2F05%2F1.csv"] = lambda _request: Reply(200, b"abcd")

    with pytest.raises(SourceError, match="more than the 3 bytes"):
        CONNECTOR.fetch(config(), CONNECTOR.months(config())[0], Fetch(tmp_path))


def test_a_permission_that_is_missing_names_itself_the_account_and_the_role(
    google: ReplayServer, tmp_path: Path
) -> None:
    months = CONNECTOR.months(config())
    google.routes[f"{LISTING}/2026%2F05%2F1.csv"] = lambda _request: Reply.of_json({}, 403)
    with pytest.raises(AccessError, match=r"storage\.objects\.get on gs://acme-billing"):
        CONNECTOR.fetch(config(), months[0], Fetch(tmp_path))

    google.routes[LISTING] = lambda _request: Reply.of_json({}, 403)
    with pytest.raises(AccessError) as error:
        CONNECTOR.months(config())
    assert error.value.message == (
        f"{ACCOUNT[:1].upper()}{ACCOUNT[1:]} is not allowed storage.objects.list on gs://acme-billing. Grant it "
        "roles/storage.objectViewer on the bucket."
    )


@pytest.mark.parametrize("key", [
    "",
    "{}",
    json.dumps({"type": "external_account", "credential_source": {"file": "/etc/passwd"}}),
    json.dumps({"type": "authorized_user", "client_id": "a", "client_secret": "b", "refresh_token": "c"}),
])  # fmt: skip
def test_an_invalid_key_of_a_service_account_is_refused(google: ReplayServer, key: str) -> None:
    with pytest.raises(SourceError, match="service account") as error:
        CONNECTOR.months(config(key=key))
    assert error.value.field == "key"
    assert google.requests == []


def test_the_identity_of_the_server_is_lent_only_where_its_operator_says_so() -> None:
    with pytest.raises(AccessError, match="CONNECTION_AMBIENT_IDENTITY"):
        CONNECTOR.months(config(access="server_identity"))
