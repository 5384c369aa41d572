"""Valid bodies of a part: formats, exact amounts; and hostile bodies."""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import zlib
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finops.connections.push_files import PartFormat, convert_to_parquet, detect_format
from finops.connections.services import push_folders
from finops.lake.schema import tag_column
from finops.lib.errors import UserError
from tests.examples import examples
from tests.factories.imports import cost_by
from tests.finops.connections.pushes.push_steps import (
    MAY,
    MONTHS,
    CostPushClient,
    csv_rows,
    push_of,
    row,
    run_pushes,
)
from tests.finops.costs.focus_reader import ROW

pytestmark = pytest.mark.django_db

ATTO = Decimal("0.000000000000000001")


def parquet(*costs: str, has_rows: bool = True) -> bytes:
    rows = [{**ROW, "BilledCost": Decimal(cost), "EffectiveCost": Decimal(cost)} for cost in costs]
    types = [
        (name, pa.decimal128(38, 18) if isinstance(value, Decimal) else pa.string())
        for name, value in rows[0].items()
    ]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows if has_rows else [], pa.schema(types)), buffer)
    return buffer.getvalue()


def lines(*rows: Any) -> bytes:
    return b"\n".join(json.dumps(each).encode() for each in rows)


@pytest.mark.parametrize(
    ("body", "format_"),
    [
        (csv_rows("1", "2"), "csv"),
        (gzip.compress(csv_rows("1", "2"), mtime=0), "csv.gz"),
        (parquet("1", "2"), "parquet"),
        (json.dumps({"rows": [row("1"), row("2")]}).encode(), "json"),
        (b"\xef\xbb\xbf \n" + json.dumps({"rows": [row("1"), row("2")]}).encode(), "json"),
        (lines(row("1"), row("2")), "ndjson"),
        (b"\n" + lines(row("1"), row("2")) + b"\r\n\r\n", "ndjson"),
        (lines(row("3")), "ndjson"),
    ],
    ids=["csv", "csv.gz", "parquet", "json", "json with a mark", "ndjson", "blank lines", "one line"],
)
def test_a_part_is_recognised_by_its_content(cost_client: CostPushClient, body: bytes, format_: str) -> None:
    push = cost_client.open()

    assert cost_client.put(push, 1, body).json()["parts"] == [
        {"number": 1, "format": format_, "bytes": len(body)}
    ]
    assert cost_client.push(body)["status"] == "done"
    assert cost_client.billed() == {MAY: Decimal(3)}


def test_a_body_in_gzip_is_inflated(cost_client: CostPushClient) -> None:
    body = gzip.compress(json.dumps({"rows": [row("3")]}).encode())

    answer = cost_client.send("POST", f"{MONTHS}/{MAY}", body, content_encoding="gzip")

    assert answer.status_code == 202
    assert answer.json()["parts"][0]["format"] == "json"


@pytest.mark.parametrize(
    "amount",
    [
        "0.000000000000000001",
        "-123456789012345.123456789012345678",
        "999999999999999.999999999999999999",
        "0.1",
        "1e-18",
        "1.5E2",
        "0",
        "-0.0",
    ],
)
def test_a_number_of_json_is_exact_to_eighteen_places(cost_client: CostPushClient, amount: str) -> None:
    body = json.dumps({"rows": [row("@")]}).replace('"@"', amount)

    status = cost_client.push_month(body)

    assert status["status"] == "done", status["error"]
    assert cost_client.billed() == {MAY: Decimal(amount)}
    (total,) = status["totals"]
    assert Decimal(total["billed_cost"]) == Decimal(amount)


def test_many_small_amounts_add_up_to_the_last_digit(cost_client: CostPushClient) -> None:
    amounts = [Decimal(number) * ATTO + Decimal(number) / 8 for number in range(1, 501)]
    body = json.dumps({"rows": [row(f"@{amount}@") for amount in amounts]})
    texts = {"rows": [row(str(-2 * amount)) for amount in amounts]}

    status = cost_client.push(
        body.replace('"@', "").replace('@"', ""), texts, csv_rows(*map(str, amounts[::-3]))
    )

    expected = sum(amounts[::-3]) - sum(amounts)
    assert cost_client.billed() == {MAY: expected}
    assert Decimal(status["totals"][0]["billed_cost"]) == expected
    assert status["rows"] == 1_000 + len(amounts[::-3])


def test_tags_come_as_an_object(cast: Any, cost_client: CostPushClient) -> None:
    rows = [
        row("1", Tags={"team": "core", "env": None}),
        row("2", Tags={"team": "data \N{SNOWMAN}"}),
        row("4", Tags={}),
        row("8", Tags=None),
        row("16", Tags='{"team": "core"}'),
    ]

    assert cost_client.push({"rows": rows})["status"] == "done"

    sums = cost_by(cast.account, tag_column("team"), ("team",))
    assert {team: billed for team, (billed, _) in sums.items()} == {
        "core": 17,
        "data \N{SNOWMAN}": 2,
        None: 12,
    }


def test_rows_may_have_different_columns_and_unknown_ones(cost_client: CostPushClient) -> None:
    wide = {f"x_column_{number}": f"value {number}" for number in range(200)}
    rows = [row("1"), row("2", x_only_here="x"), row("4", NoSuchColumn=[1, {"a": 2}]), row("8", **wide)]

    status = cost_client.push({"rows": rows})

    assert status["status"] == "done", status
    assert cost_client.billed() == {MAY: Decimal(15)}


def test_an_invalid_value_fails_with_its_part_row_and_column(cost_client: CostPushClient) -> None:
    status = cost_client.push({"rows": [row("1")]}, {"rows": [row("1"), row("soon")]})

    assert status["status"] == "failed"
    assert status["error"].startswith("part-2, row 2, column BilledCost: 'soon'")
    assert cost_client.billed() == {}


def test_two_parts_with_the_same_rows_are_refused_at_the_commit_and_can_be_mended(
    cost_client: CostPushClient,
) -> None:
    push = cost_client.open()
    for number, body in enumerate((csv_rows("1"), csv_rows("2"), csv_rows("1")), 1):
        cost_client.put(push, number, body)

    refusal = cost_client.commit(push, 3)
    cost_client.put(push, 3, {"rows": []})
    mended = cost_client.commit(push, 3)

    assert refusal.status_code == 409
    assert refusal.json()["error"]["message"] == (
        "Parts 1 and 3 have the same content, which would count twice. Send part 3 again with its own rows, or with "
        '{"rows": []}, then commit.'
    )
    assert mended.status_code == 202
    run_pushes()
    assert cost_client.billed() == {MAY: Decimal(3)}


def test_the_same_rows_in_two_formats_fail_the_push(cost_client: CostPushClient) -> None:
    status = cost_client.push(csv_rows("1"), gzip.compress(csv_rows("1")))

    assert status["status"] == "failed"
    assert "part-1 and part-2 have the same content" in status["error"]
    assert cost_client.billed() == {}


def test_a_part_that_is_sent_again_counts_once(cost_client: CostPushClient) -> None:
    push = cost_client.open()
    for number in (1, 2, 1, 2, 2):
        cost_client.put(push, number, csv_rows(str(number)))

    assert cost_client.commit(push, 2).status_code == 202
    run_pushes()
    assert cost_client.billed() == {MAY: Decimal(3)}


HEADER = csv_rows("1").splitlines()[0]


@pytest.mark.parametrize(
    "empty",
    [{"rows": []}, HEADER, HEADER + b"\n\n", gzip.compress(HEADER, mtime=0), parquet("1", has_rows=False)],
    ids=["JSON", "CSV", "CSV with an empty line", "CSV.gz", "Parquet"],
)
def test_parts_without_a_row_may_repeat(cost_client: CostPushClient, empty: Any) -> None:
    status = cost_client.push(empty, csv_rows("5"), empty)

    assert status["status"] == "done", status["error"]
    assert cost_client.billed() == {MAY: Decimal(5)}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b"[1]",
        b'{"rows": [1]}',
        b'{"rows": [{"BilledCost": 1}], "more": 1}',
        b'{"rows": [{"BilledCost": 1}',
        b'{"rows": [{"BilledCost": 01}]}',
        b'{"rows": [{"BilledCost": NaN}]}',
        b'{"rows": [{"BilledCost": "\xff"}]}',
        b'{"rows": [{}]}',
        b'{"rows": {}}',
        b'{"a": 1}\n{"a": ',
        b'{"a": "\\ud800"}',
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b"PK\x03\x04 a workbook",
        b"<html></html>",
        b"PAR1",
        gzip.compress(b'{"rows": []}', mtime=0),
        gzip.compress(b""),
    ],
    ids=range(19),
)
def test_a_body_that_is_no_part_is_refused_or_fails_with_a_reason(
    cost_client: CostPushClient, body: bytes
) -> None:
    push = cost_client.open()
    answer = cost_client.put(push, 1, body)

    if answer.status_code == 200:  # told when it is imported
        assert cost_client.push(body)["error"]
    else:
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_body")
        assert answer.json()["error"]["message"].startswith("Part 1")
        assert cost_client.status(push)["parts"] == []
        assert list(push_folders.folder_of(push_of(cost_client).public_id).iterdir()) == []


def bomb(size: int) -> bytes:
    deflate = zlib.compressobj(9, wbits=31)
    return b"".join([deflate.compress(b"0" * 2**20) for _ in range(size >> 20)]) + deflate.flush()


def test_a_body_is_bounded_before_and_after_inflating(cost_client: CostPushClient, settings: Any) -> None:
    settings.COST_PUSH_MAX_PART_BYTES = 2**20
    push = cost_client.open()
    answers = [
        cost_client.put(push, 1, b"x" * (2**20 + 1)),
        cost_client.put(push, 1, bomb(64 * 2**20), content_encoding="gzip"),
        cost_client.put(push, 1, bomb(2**21), content_encoding="gzip"),
        cost_client.put(push, 1, b"no gzip", content_encoding="gzip"),
        cost_client.put(push, 1, gzip.compress(csv_rows("1"))[:-9], content_encoding="gzip"),
        cost_client.put(push, 1, b"x", content_encoding="br"),
    ]

    assert [answer.status_code for answer in answers] == [413, 413, 413, 400, 400, 415]
    assert list(push_folders.folder_of(push_of(cost_client).public_id).iterdir()) == []


def test_a_csv_in_gzip_that_inflates_without_end_fails_in_its_import(cost_client: CostPushClient) -> None:
    status = cost_client.push(bomb(64 * 2**20))

    assert status["status"] == "failed"


def test_all_parts_of_a_push_have_a_bound(cost_client: CostPushClient, settings: Any) -> None:
    settings.UPLOAD_MAX_BYTES = 600
    push = cost_client.open()

    answers = [cost_client.put(push, number, csv_rows("1" * number)) for number in (1, 2, 3)]

    assert 413 in [answer.status_code for answer in answers]
    assert answers[-1].json()["error"]["code"] == "push_too_large"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(
    st.dictionaries(st.sampled_from([*ROW, "Tags", "x_a", "Other", ""]), VALUES, max_size=8), max_size=5
)


@settings(max_examples=examples(150), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(rows=ROWS, as_lines=st.booleans())
def test_any_rows_of_json_become_the_same_texts_or_a_reason(
    rows: list[dict[str, Any]], as_lines: bool
) -> None:
    body = lines(*rows) if as_lines else json.dumps({"rows": rows}).encode()
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder) / "body", Path(folder) / "rows"
        path.write_bytes(body)
        refusal = ""
        try:
            format_ = detect_format(path, "Part 1")
            has_rows = convert_to_parquet(path, target, "Part 1", format_)
        except UserError as error:
            refusal = error.message
        if refusal:
            assert refusal.startswith("Part 1")
            assert not rows or not any(rows) or "\\ud" in body.decode()
            return
        assert has_rows == bool(rows)
        rows_of_parquet = pq.read_table(target).to_pylist() if has_rows else []
        assert [len(each) for each in rows_of_parquet] == [len({key for item in rows for key in item})] * len(
            rows
        )
        for sent, stored in zip(rows, rows_of_parquet, strict=True):
            for name, value in sent.items():
                assert_same(value, stored[name])


def assert_same(value: Any, text: str | None) -> None:
    if isinstance(value, str):
        assert text == value
    elif value is None:
        assert text is None
    else:
        assert json.loads(text or "") == value


@settings(max_examples=examples(150), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(body=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "ignore")))
def test_any_bytes_are_a_part_or_refused_with_a_reason(body: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "body"
        path.write_bytes(body)
        try:
            format_ = detect_format(path, "Part 1")
            if format_.is_json:
                convert_to_parquet(path, Path(folder) / "rows", "Part 1", format_)
            outcome = format_.value
        except UserError as error:
            outcome = error.message
        assert outcome in list(PartFormat) or outcome.startswith("Part 1")
