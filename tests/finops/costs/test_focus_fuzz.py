"""Whatever a file holds, it is imported or refused with a message; never another error, and never half."""

from __future__ import annotations

import gzip
import io
import json
import os
from pathlib import Path

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from django.conf import settings as django_settings
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finops.costs import services
from finops.costs.focus.tags import pairs, read_tags
from finops.costs.focus.values import parse_amount, parse_day
from finops.costs.models import CostSource
from finops.lake.models import LakeSegment
from finops.lib.errors import UserError
from tests.cast import Cast
from tests.examples import examples
from tests.finops.costs.focus_reader import ROW, FocusRead, as_csv

pytestmark = pytest.mark.soak
SOAK = 100 if os.environ.get("SOAK") else 1
WHOLE = as_csv(
    {"Tags": '{"a": "b"}', "RegionId": "eu"}, {"ChargeDescription": 'x, "y"\nz'}, {"BilledCost": "-1e-3"}
)

CELLS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["NULL", "", "$1,000.00 ", "(5)", "1e-20", "NaN", "5/3/26", "usd", '{"a": 1}', '"', "\n", "\0"]
    ),
    st.decimals(allow_nan=False).map(str),
    st.datetimes().map(str),
)


def parquet() -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pacsv.read_csv(io.BytesIO(as_csv({}, {}, {}))), buffer)
    return buffer.getvalue()


def is_accepted(*files: bytes) -> bool:
    message = refusal(*files)
    # What a message repeats must fit a page and a PostgreSQL text.
    assert message.isprintable()
    return not message


def refusal(*files: bytes) -> str:
    try:
        FocusRead(*files)
    except UserError as error:
        return error.message
    return ""


@settings(max_examples=examples(300) * SOAK, deadline=None, derandomize=SOAK == 1)
@given(st.binary(max_size=400))
def test_random_bytes(data: bytes) -> None:
    is_accepted(data)


@settings(max_examples=examples(300) * SOAK, deadline=None, derandomize=SOAK == 1)
@given(st.sampled_from(["csv", "gzip", "parquet"]), st.data())
def test_damaged_files(form: str, data: st.DataObject) -> None:
    whole = {"csv": WHOLE, "gzip": gzip.compress(WHOLE), "parquet": parquet()}[form]
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 5))] = data.draw(st.binary(max_size=5))
        if not damaged:
            break
    cut = data.draw(st.integers(0, len(damaged)))
    is_accepted(bytes(damaged[:cut]) if data.draw(st.booleans()) else bytes(damaged))


@settings(max_examples=examples(300) * SOAK, deadline=None, derandomize=SOAK == 1)
@given(
    st.lists(
        st.dictionaries(st.sampled_from([*ROW, "Tags", "x_User", "SkuMeter"]), CELLS, max_size=3), min_size=1
    )
)
def test_odd_cells(rows: list[dict[str, str]]) -> None:
    data = as_csv(*({name: cell.replace("\r", "") for name, cell in row.items()} for row in rows))
    if is_accepted(data):
        assert len(FocusRead(data).rows) == len(rows)


@settings(max_examples=examples(100) * SOAK, deadline=None, derandomize=SOAK == 1)
@given(st.lists(st.text(max_size=12), max_size=20), st.lists(st.text(max_size=12), max_size=40))
def test_odd_headers(names: list[str], cells: list[str]) -> None:
    is_accepted("\n".join([",".join(names), ",".join(cells)]).encode("utf-8", "surrogatepass"))
    is_accepted(
        "\n".join([",".join([*ROW, *names]), ",".join([*ROW.values(), *cells])]).encode("utf-8", "replace")
    )


@settings(max_examples=examples(500) * SOAK, deadline=None, derandomize=SOAK == 1)
@given(st.text(max_size=40))
def test_amounts_days_and_tags_from_any_text(text: str) -> None:
    for parse in (parse_amount, parse_day):
        try:
            parse(text)
        except ValueError:
            continue
    pairs(read_tags(text).flat)


@settings(max_examples=examples(300) * SOAK, deadline=None, derandomize=SOAK == 1)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=5),
    )
)
def test_tags_of_any_json(value: object) -> None:
    tag_set = read_tags(json.dumps(value))
    for key, tag in pairs(tag_set.flat):
        assert key.strip() == key != ""
        assert tag.strip()


@settings(
    max_examples=examples(20) * SOAK,
    deadline=None,
    derandomize=SOAK == 1,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.dictionaries(st.sampled_from([*ROW, "Tags"]), CELLS, max_size=2), min_size=1, max_size=4))
def test_an_import_is_whole_or_leaves_nothing(
    cast: Cast, source: CostSource, rows: list[dict[str, str]]
) -> None:
    files, waiting = lake_files(), waiting_files()
    upload = SimpleUploadedFile("focus.csv", as_csv(*rows))
    job = services.queue_import(source=source, uploads=[upload], actor=cast.actor)
    assert services.run_import(job.pk)
    job.refresh_from_db()
    new = lake_files() - files
    named = LakeSegment.objects.filter(path__in=new)
    assert (len(named), sum(each.rows for each in named)) == (len(new), job.rows if new else 0)
    assert (job.status, bool(new)) == (("failed", False) if job.error else ("done", True))
    of_a_retry = {Path(file["path"]) for file in job.files} if job.error else set()
    assert waiting_files() - waiting == of_a_retry


def lake_files() -> set[str]:
    lake = Path(django_settings.LAKE_URL)
    return {path.relative_to(lake).as_posix() for path in lake.rglob("*.parquet")}


def waiting_files() -> set[Path]:
    return {path for path in Path(django_settings.VAR_DIR, "uploads").rglob("*") if path.is_file()}
