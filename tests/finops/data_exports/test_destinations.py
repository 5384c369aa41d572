"""Exports go to every kind of storage, and Test connection names each permission that is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
from pytest_django import Settings

from accounts.models import Account
from finops.connections.configs import config_of_values
from finops.connections.connector import AccessError
from finops.data_exports.destinations import destination_of, destinations
from finops.data_exports.destinations.folder import FolderExportConfig
from finops.data_exports.services import exports, runs
from finops.data_exports.services.exports import check_destination
from tests.cast import Cast
from tests.factories.costs import add_source
from tests.finops.connections.azurite import AzureContainer
from tests.finops.connections.gcs_emulator import GcsTestBucket, key_file
from tests.finops.data_exports.bills import Bucket, lines, spend, sums


@pytest.fixture(params=["azure_blob", "google_storage", "folder"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, settings: Settings
) -> tuple[str, Mapping[str, object]]:
    """The name of a destination and what a person enters for it; S3 has tests of its own."""
    if request.param == "azure_blob":
        container: AzureContainer = request.getfixturevalue("container")
        return request.param, {
            "access": "sas_url",
            "sas_url": container.sas_url(permissions="rwdl"),
            "folder": "out",
        }
    if request.param == "google_storage":
        gcs: GcsTestBucket = request.getfixturevalue("gcs")
        return request.param, {"bucket": gcs.name, "folder": "out", "key": key_file()}
    (tmp_path / "out").mkdir()
    settings.DATA_EXPORT_FOLDERS = [str(tmp_path)]
    return request.param, {"folder": str(tmp_path / "out")}


def test_every_destination_gets_the_months_whole(
    acme: Account, cast: Cast, place: tuple[str, dict[str, object]], tmp_path: Path
) -> None:
    destination, values = place
    source = add_source(acme, lines())
    export = exports.create_data_export(
        account=acme, actor=cast.actor, name="focus", destination=destination, values=values
    )
    assert runs.run_export(export.runs.get().pk)
    run = export.runs.get()
    assert (run.status, run.error, run.months_written) == ("done", "", 3)

    kind = destination_of(destination)
    config = config_of_values(kind, values, external_id="")
    with kind.open(config) as bucket:
        objects_by_key = {each.key: each for each in bucket.objects()}
        paths = []
        for number, (key, each) in enumerate(objects_by_key.items()):
            if key.endswith(".parquet"):
                paths.append(str(tmp_path / f"{number}.parquet"))
                bucket.download(each, Path(paths[-1]), lambda _bytes: None)
    assert len(objects_by_key) == 7
    assert sums(paths, "ServiceName") == spend(acme, "service")
    assert source.name in [
        row[0] for row in duckdb.sql(f"SELECT DISTINCT x_CostSource FROM read_parquet({paths})").fetchall()
    ]

    exports.delete_data_export(export=export, actor=cast.actor, with_files=True)
    assert runs.run_export(export.runs.get(status="queued").pk)
    with kind.open(config) as bucket:
        assert bucket.objects() == []


def test_a_test_writes_lists_and_deletes(acme: Account, place: tuple[str, dict[str, object]]) -> None:
    destination, values = place
    findings = check_destination(account=acme, destination=destination, values=values)

    assert [each.is_ok for each in findings] == [True] * 4, findings
    assert [each.title.split(" ")[0] for each in findings] == ["Sign", "Write", "List", "Delete"]
    kind = destination_of(destination)
    with kind.open(config_of_values(kind, values, external_id="")) as bucket:
        assert bucket.objects() == []


@pytest.mark.parametrize(
    ("permissions", "failed"), [("rl", {"Write", "Delete"}), ("rwd", {"List"}), ("rwl", {"Delete"})]
)
def test_a_test_names_each_permission_that_is_missing(
    acme: Account, container: AzureContainer, permissions: str, failed: set[str]
) -> None:
    findings = check_destination(
        account=acme,
        destination="azure_blob",
        values={"access": "sas_url", "sas_url": container.sas_url(permissions=permissions)},
    )

    assert {each.title.split(" ")[0] for each in findings if not each.is_ok} == failed
    for each in findings:
        assert each.is_ok or "Storage Blob Data" in each.fix


def test_a_test_of_a_bucket_that_is_not_there_says_so(bucket: Bucket) -> None:
    bucket.s3.client.delete_bucket(Bucket=bucket.s3.name)
    findings = check_destination(account=bucket.account, destination="s3", values=bucket.values)

    assert [each.is_ok for each in findings] == [True, False, False, False]
    assert all("does not exist" in each.fix for each in findings[1:])


def test_folders_are_written_only_where_the_operator_allows_it(
    acme: Account, tmp_path: Path, settings: Settings
) -> None:
    settings.CONNECTION_FOLDERS = [str(tmp_path)]
    folder = destinations()["folder"]

    assert not folder.is_offered()
    with pytest.raises(AccessError, match="DATA_EXPORT_FOLDERS"):
        folder.open(FolderExportConfig(folder=str(tmp_path)))
    settings.DATA_EXPORT_FOLDERS = [str(tmp_path / "allowed")]
    with pytest.raises(AccessError, match="add it to DATA_EXPORT_FOLDERS"):
        folder.open(FolderExportConfig(folder=str(tmp_path)))


@pytest.mark.parametrize("name", list(destinations()))
def test_every_destination_says_what_to_do(name: str) -> None:
    destination: Any = destinations()[name]
    steps = destination.steps("finops-external-id")

    assert destination.title
    assert destination.description
    assert steps
    assert all(step.title for step in steps)
