"""Files that mean harm, from a bucket through whole syncs: each fails its month with a reason, and what counted stays."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from accounts.scoping import account_scope
from finops.connections import services
from finops.connections.connector import SourceError
from finops.connections.models import CostConnection
from finops.connections.transports.bucket import MAX_OBJECTS, BucketObject, StorageBucket
from tests.cast import Cast
from tests.factories.imports import total
from tests.finops.connections.conftest import S3TestBucket
from tests.finops.connections.syncs.sync_steps import actions, month_rows, sync_now
from tests.s3 import KEY, REGION

PAGE = 1_000


def gzip_bomb() -> bytes:
    """A line a million times: 220 MB in a few hundred KB."""
    header, line, *_ = month_rows("2026-05", "1").splitlines(keepends=True)
    return gzip.compress(header + line * (220 * 2**20 // len(line)), compresslevel=9)


def wide_parquet() -> bytes:
    names = [f"c{number}" for number in range(100_000)]
    sink = io.BytesIO()
    schema = pa.schema([(name, pa.bool_()) for name in names])
    pq.write_table(schema.empty_table(), sink, store_schema=False, write_statistics=False)
    return sink.getvalue()


def wide_csv() -> bytes:
    return ",".join(f"c{number}" for number in range(100_000)).encode() + b"\n"


def endless_rows() -> bytes:
    """Nearly nothing on disk, and four million rows."""
    table = pa.table({"BilledCost": pa.repeat(pa.scalar(1.0), 4_000_000)})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("make", "name", "reason"),
    [
        (gzip_bomb, "bill.csv.gz", "times its size. A file may unpack to 200 times its size"),
        (wide_parquet, "bill.parquet", "100,000 columns"),
        (wide_csv, "bill.csv", "columns; the maximum is 2,000"),
        (endless_rows, "bill.parquet", "declares 4,000,000 rows"),
    ],
)
def test_a_file_without_measure_fails_its_month_and_leaves_what_was_there(
    cast: Cast,
    s3: S3TestBucket,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[], bytes],
    name: str,
    reason: str,
) -> None:
    monkeypatch.setattr("finops.costs.focus.csvtext.FREE_TEXT", 64 * 2**20)
    s3.put("focus/2026/05/good.csv", month_rows("2026-05", "3"))
    row = connect(cast, s3)
    with account_scope(cast.account):
        assert actions(sync_now(row)) == {"2026-05": "imported"}
        s3.put(f"focus/2026/05/{name}", make())

        sync = sync_now(row)

        assert (sync.status, actions(sync)) == ("failed", {"2026-05": "failed"})
        assert reason in sync.error
        assert name in sync.error
        assert total(cast.account) == Decimal(3)


def connect(cast: Cast, s3: S3TestBucket) -> CostConnection:
    keys = {"access_key_id": KEY, "secret_access_key": KEY, "endpoint": s3.endpoint, "region": REGION}
    return services.create_connection(
        account=cast.account,
        actor=cast.actor,
        name="Bills",
        connector="bucket_focus",
        values={"bucket": s3.name, "prefix": "focus", "pattern": "{year}/{month}/*", **keys},
    )


class Listing(StorageBucket):
    """A bucket whose server lists a million keys, or what it likes."""

    def __init__(self, key: Callable[[int], str], size: int = PAGE) -> None:
        super().__init__(None, "bucket", "exports", scheme="s3")
        self.key = key
        self.size = size
        self.pages = 0

    def _write(self, key: str, file: Path) -> None:
        raise AssertionError("a source is only read")

    def _remove(self, key: str) -> None:
        raise AssertionError("a source is only read")

    def _pages(self, prefix: str) -> Iterator[list[BucketObject]]:
        for page in range(1_000_000 // PAGE * PAGE // max(self.size, 1)):
            self.pages += 1
            yield [BucketObject(self.key(page * self.size + place), 1, "v") for place in range(self.size)]

    def _explain(self, error: Exception, action: str, key: str) -> SourceError:
        return SourceError(f"{action} {key}: {error}")

    def _version(self, info: dict[str, Any]) -> str:
        return str(info)


def test_a_bucket_of_a_million_keys_is_listed_up_to_the_limit() -> None:
    bucket = Listing("exports/{}".format)

    with pytest.raises(SourceError, match=r"more than 200,000 objects.*Enter a longer prefix"):
        bucket.objects()
    assert bucket.pages == MAX_OBJECTS // PAGE + 1


def test_pages_without_keys_come_to_an_end() -> None:
    bucket = Listing("exports/{}".format, size=0)

    with pytest.raises(SourceError, match="more than 200,000 objects"):
        bucket.objects()
    assert bucket.pages <= 2_001


@pytest.mark.parametrize("key", ["other/{}", "exports-of-another/{}", "../exports/{}", "/exports/{}"])
def test_a_server_that_lists_what_is_outside_of_the_prefix_is_not_believed(key: str) -> None:
    with pytest.raises(SourceError, match="outside of the prefix"):
        Listing(key.format).objects()


@pytest.mark.parametrize("key", ["exports/../secrets/{}", "exports//{}", "exports/a\\..\\{}"])
def test_a_listed_key_that_leaves_the_prefix_is_not_read(key: str, tmp_path: Any) -> None:
    bucket = Listing(key.format, size=1)
    bucket_object = BucketObject(key.format(1).removeprefix("exports/"), 1, "v")

    with pytest.raises(SourceError, match="is not a valid key"):
        bucket.download(bucket_object, tmp_path / "file", lambda _bytes: None)
