"""A Spark Connect server (Sail) of a test's own: on a lake in S3 with credentials of its own, and killed while it answers."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import httpx
import pytest
import s3fs
from django.conf import LazySettings
from moto.server import ThreadedMotoServer

from finops.lake.engine import engine, spark
from finops.lake.models import LakeSegment
from finops.lake.schema import Kind
from tests.cast import Cast
from tests.finops.lake.engine.test_spark import on_both
from tests.finops.lake.facts import EVER, FEBRUARY, JANUARY, billed_by, line, store, total
from tests.s3 import variables
from tests.sail import sail_process
from tests.servers import free_port
from tests.waiting import threads, wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("sail")]

LAKE, OTHER = "lake", "payroll"
READS_THE_LAKE = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{LAKE}/*"},
        {"Effect": "Allow", "Action": "s3:ListBucket", "Resource": f"arn:aws:s3:::{LAKE}"},
    ],
}


def of_cluster(settings: LazySettings, address: str) -> None:
    settings.SPARK_REMOTE, settings.SPARK_MIN_BYTES, settings.LAKE_ANSWERS_BYTES = address, 0, 0
    settings.LAKE_DEADLINE_SECONDS = 120


# In S3


@dataclass(frozen=True)
class S3:
    """A real S3 server that asks who somebody is from `enforce` on; `environment` has the identity of the cluster."""

    url: str
    environment: dict[str, str]

    def enforce(self, *, after: str = "0") -> None:
        httpx.post(f"{self.url}/moto-api/reset-auth", content=after).raise_for_status()


@pytest.fixture
def s3(settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[S3]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    httpx.post(f"{url}/moto-api/reset").raise_for_status()
    for name, value in variables(url).items():
        monkeypatch.setenv(name, value)
    s3fs.S3FileSystem.clear_instance_cache()
    for bucket in (LAKE, OTHER):
        boto3.client("s3").create_bucket(Bucket=bucket)
    iam = boto3.client("iam")
    iam.create_user(UserName="spark")
    iam.put_user_policy(UserName="spark", PolicyName="lake", PolicyDocument=json.dumps(READS_THE_LAKE))
    key = iam.create_access_key(UserName="spark")["AccessKey"]
    settings.LAKE_URL, settings.VAR_DIR = f"s3://{LAKE}/facts", tmp_path
    of_spark = {
        **variables(url),
        "AWS_ENDPOINT": url,
        "AWS_REGION": variables(url)["AWS_DEFAULT_REGION"],
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
    }
    s3 = S3(url, of_spark)
    yield s3
    s3.enforce(after="inf")
    server.stop()
    s3fs.S3FileSystem.clear_instance_cache()


def test_a_lake_in_s3_is_read_by_the_cluster_with_an_identity_of_its_own(
    cast: Cast, s3: S3, settings: LazySettings
) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2"), line(JANUARY, "2.5", service="S3")])
    store(cast.account, [line(FEBRUARY, 4, service="S3", tags={"a b": "é"})], month=FEBRUARY)
    with sail_process(settings=s3.environment) as (address, _process):
        of_cluster(settings, address)
        try:
            s3.enforce()
            assert len(on_both(cast, billed_by("service"), settings)) == 2

            # Whoever could choose a path would still read the lake alone.
            settings.SPARK_LAKE_URL = f"s3://{OTHER}/facts"
            with pytest.raises(engine.LakeUnavailable, match="may not read the lake's files"):
                total(cast.account)
        finally:
            spark.close()


def test_a_cluster_without_rights_on_the_lake_is_a_clear_error(
    cast: Cast, s3: S3, settings: LazySettings
) -> None:
    store(cast.account, [line(JANUARY, 1)])
    strangers = {**s3.environment, "AWS_ACCESS_KEY_ID": "AKIASTRANGER", "AWS_SECRET_ACCESS_KEY": "x" * 40}
    with sail_process(settings=strangers) as (address, _process):
        of_cluster(settings, address)
        try:
            s3.enforce()
            with pytest.raises(engine.LakeUnavailable, match="may not read the lake's files"):
                total(cast.account)
        finally:
            spark.close()


# Killed


def every_triple(cost: Any) -> Any:
    """Hours of work for a few ten thousand lines."""
    first_column = cost.select(x=cost.billed_cost)
    middle = cost.select(y=cost.billed_cost).view()
    right = cost.select(z=cost.billed_cost).view()
    triples = first_column.cross_join(middle).cross_join(right)
    return triples.agg(lower=(triples.x + triples.y < triples.z).sum())


def processor_seconds(process: subprocess.Popen[str]) -> float:
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


@pytest.mark.slow
def test_a_cluster_that_is_killed_while_it_answers_is_said_so_and_the_next_one_answers(
    cast: Cast, settings: LazySettings
) -> None:
    store(cast.account, [line(JANUARY, number) for number in range(60_000)])
    assert LakeSegment.objects.unscoped().count() == 1
    port = free_port()
    try:
        with sail_process(port=port) as (address, process), threads(1) as call:
            of_cluster(settings, address)
            assert total(cast.account) == sum(range(60_000))
            used = processor_seconds(process)

            def kill_at_work() -> float:
                wait_until(lambda: processor_seconds(process) > used + 2, "it does not work")
                process.kill()
                return time.monotonic()

            killed: Future[float] = call(kill_at_work)
            with pytest.raises(engine.LakeUnavailable, match="cluster does not answer"):
                engine.run(cast.account, Kind.COST, *EVER, every_triple)
            assert 0 < time.monotonic() - killed.result() < 30
        with pytest.raises(engine.LakeUnavailable, match="cluster does not answer"):
            total(cast.account)
        settings.SPARK_MIN_BYTES = 1 << 40
        assert total(cast.account) == sum(range(60_000))
        settings.SPARK_MIN_BYTES = 0
        with sail_process(port=port) as (_address, _process):
            assert total(cast.account) == sum(range(60_000))
    finally:
        spark.close()
