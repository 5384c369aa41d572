"""ZIP archives of cost files: uploaded, synced, and refused beyond their limits."""

from __future__ import annotations

import io
import struct
import zipfile
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command

from finops.costs import services
from finops.costs.focus import archives, csvtext
from finops.costs.focus.archives import unpack
from finops.costs.focus.errors import FocusFileError
from finops.costs.focus.open_files import FocusFile
from finops.costs.models import CostImport, CostSource
from finops.costs.services import files
from tests.cast import Cast
from tests.examples import examples
from tests.factories.imports import cost_by, total
from tests.finops.costs.focus_reader import as_csv


def zip_bytes(entries: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def upload(cast: Cast, source: CostSource, name: str, data: bytes) -> CostImport:
    job = services.queue_import(source=source, uploads=[SimpleUploadedFile(name, data)], actor=cast.actor)
    services.run_import(job.pk)
    return CostImport.objects.get(pk=job.pk)


def parts_of(data: bytes, folder: Path, name: str = "bill.zip") -> list[FocusFile]:
    path = folder / "archive"
    path.write_bytes(data)
    return unpack(FocusFile(path, name), folder / "files")


def test_the_files_of_an_uploaded_archive_are_imported_together(cast: Cast, source: CostSource) -> None:
    entries = {
        "bill/part-2.csv": as_csv({"BilledCost": "0.000000000000000001"}, {"BilledCost": "-3"}),
        "bill/part-1.csv": as_csv({"BilledCost": "10.25", "ServiceName": "EC2"}),
        "bill/.hidden": b"x",
        "__MACOSX/bill/._part-1.csv": b"x",
        "bill/empty.csv": b"",
    }
    before = set(files.uploads().iterdir())
    job = upload(cast, source, "alibaba.zip", zip_bytes(entries))

    assert (job.status, job.error, job.rows) == ("done", "", 3)
    assert [file["name"] for file in job.files] == [
        "alibaba.zip/bill/part-1.csv",
        "alibaba.zip/bill/part-2.csv",
    ]
    assert cost_by(cast.account, "service") == {
        "EC2": (Decimal("10.25"), Decimal("1.25")),
        "Amazon S3": (Decimal("-2.999999999999999999"), Decimal("2.5")),
    }
    assert set(files.uploads().iterdir()) == before


def test_the_same_file_in_an_archive_and_beside_it_counts_once(cast: Cast, source: CostSource) -> None:
    data = as_csv({"BilledCost": "7"})
    upload(cast, source, "may.csv", data)
    again = upload(cast, source, "may.zip", zip_bytes({"may.csv": data}))
    assert any("may.csv is unchanged from may.csv, imported on" in note for note in again.report["notes"])
    assert total(cast.account) == Decimal(7)


def test_an_archive_of_any_columns_waits_for_its_mapping(cast: Cast, source: CostSource) -> None:
    job = upload(cast, source, "bill.zip", zip_bytes({"x.csv": b"Day,Item,Amount\n2026-05-03,Server,1.50\n"}))
    assert job.status == "waiting"
    sample = services.sample_file(source)
    assert sample is not None
    assert (sample.name, sample.path.read_bytes()[:8]) == ("bill.zip/x.csv", b"Day,Item")


def test_the_command_imports_the_files_of_an_archive_and_leaves_it(
    cast: Cast, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = zip_bytes({"a.csv": as_csv({"BilledCost": "10.25"}), "b.csv": as_csv({"BilledCost": "-3"})})
    path = tmp_path / "may.zip"
    path.write_bytes(data)
    before = set(files.uploads().iterdir())

    call_command("import_focus", str(path), "--account", "acme", "--source", "Alibaba")

    assert "may.zip/a.csv: CSV, FOCUS" in capsys.readouterr().out
    assert total(cast.account) == Decimal("7.25")
    assert path.read_bytes() == data
    assert set(files.uploads().iterdir()) == before


def test_the_command_says_what_is_wrong_with_an_archive(cast: Cast, tmp_path: Path) -> None:
    path = tmp_path / "may.zip"
    path.write_bytes(encrypt())
    with pytest.raises(CommandError, match=r"may\.zip is encrypted\. Unpack it"):
        call_command("import_focus", str(path), "--account", "acme", "--source", "Alibaba")


def test_names_of_an_archive_are_data(tmp_path: Path) -> None:
    parts = parts_of(zip_bytes({"../../evil.csv": b"a", "/etc/passwd": b"b", "C:\\x\n.csv": b"c"}), tmp_path)
    assert {part.path.parent for part in parts} == {tmp_path / "files"}
    assert sorted(part.path.read_bytes() for part in parts) == [b"a", b"b", b"c"]
    assert all(part.name.startswith("bill.zip/") and part.name.isprintable() for part in parts)


def test_any_other_file_and_a_workbook_are_left_as_they_are(tmp_path: Path) -> None:
    for data in (b"a,b\n1,2\n", zip_bytes({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"})):
        (only,) = parts_of(data, tmp_path)
        assert only.path == tmp_path / "archive"


def encrypt() -> bytes:
    data = bytearray(zip_bytes({"a.csv": b"x"}))
    place = data.index(b"PK\x01\x02")
    struct.pack_into("<H", data, place + 8, 1)
    return bytes(data)


def lying(count: int) -> bytes:
    """An archive whose end says that it has so many entries."""
    data = bytearray(zip_bytes({"a.csv": b"x"}))
    struct.pack_into("<HH", data, data.index(b"PK\x05\x06") + 8, count, count)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04rest", "is not a complete ZIP archive"),
        (zip_bytes({"a.csv": b"x" * 999})[:-30], "is not a complete ZIP archive"),
        (zip_bytes({"a.csv": b"hello"}, zipfile.ZIP_STORED).replace(b"hello", b"hullo"), "is not a complete ZIP archive"),
        (zip_bytes({".hidden": b"x"}), "is a ZIP archive without a file"),
        (encrypt(), "is encrypted. Unpack it"),
        (zip_bytes({"a.csv": b"x"}, zipfile.ZIP_LZMA), "is not compressed with Deflate"),
        (zip_bytes({f"{n}.csv": b"x" for n in range(1_001)}), "has 1,001 entries; at most 1,000 are read"),
        (lying(60_000), "has 60,000 entries"),
    ],
    # An archive has the time that it was made at: two workers would name the same test differently.
    ids=["no end", "cut", "damaged", "hidden files", "encrypted", "LZMA", "many entries", "many entries said"],
)  # fmt: skip
def test_an_archive_beyond_the_limits_is_refused_with_instructions(
    tmp_path: Path, data: bytes, message: str
) -> None:
    with pytest.raises(FocusFileError, match=r"^bill\.zip ") as error:
        parts_of(data, tmp_path)
    assert message in error.value.message


def test_an_archive_with_damaged_bytes_is_refused_or_read_and_raises_nothing_else(tmp_path: Path) -> None:
    whole, random = zip_bytes({"a ü.csv": b"x,y\n1,2\n" * 50, "b.csv": b"1,2\n" * 9}), Random(7)
    refused = 0
    for number in range(examples(600)):
        data = bytearray(whole)
        for _ in range(random.choice([1, 1, 2, 4])):
            data[random.randrange(4, len(data))] = random.randrange(256)
        (tmp_path / f"{number}").mkdir()
        try:
            parts_of(bytes(data), tmp_path / f"{number}")
        except FocusFileError:
            refused += 1
    assert refused


def test_an_archive_that_unpacks_to_far_more_than_bills_do_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvtext, "FREE_TEXT", 1 << 20)
    monkeypatch.setattr(archives, "_CHUNK", 1 << 16)
    with pytest.raises(FocusFileError, match="A file may unpack to 200 times its size"):
        parts_of(zip_bytes({"a.csv": bytes(1_200_000), "b.csv": bytes(1_200_000)}), tmp_path)
