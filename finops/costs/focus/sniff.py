"""The format of a file by its content, never by its name; and bills of large clouds in their own formats, by their
columns, with how to get FOCUS instead.

Sources: AWS detailed billing reports and Cost Explorer, the cost table of Google's console, Oracle's usage reports.
Formats that can be read directly are in `finops/costs/native/`.
"""

from __future__ import annotations

import codecs
import enum
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from finops.costs.focus.columns import fold
from finops.costs.focus.errors import FocusFileError

HEAD: Final = 1 << 16

_AGAIN = "Upload a FOCUS file as CSV or JSON, also compressed with gzip, or as Parquet."
_FOREIGN: Final[tuple[tuple[bytes, str], ...]] = (
    (
        b"PK\x03\x04",
        f"is a ZIP archive or an Excel workbook. Unpack it, or save the sheet as CSV UTF-8. {_AGAIN}",
    ),
    (b"PK\x05\x06", f"is an empty ZIP archive. {_AGAIN}"),
    (b"\xd0\xcf\x11\xe0", f"is an old Excel workbook. Save the sheet as CSV UTF-8. {_AGAIN}"),
    (b"BZh", f"is compressed with bzip2. Unpack it first. {_AGAIN}"),
    (b"\x28\xb5\x2f\xfd", f"is compressed with zstd. Unpack it first. {_AGAIN}"),
    (b"\xfd7zXZ\x00", f"is compressed with xz. Unpack it first. {_AGAIN}"),
    (b"\x04\x22\x4d\x18", f"is compressed with lz4. Unpack it first. {_AGAIN}"),
    (b"ARROW1", f"is an Arrow file. {_AGAIN}"),
    (b"Obj\x01", f"is an Avro file. {_AGAIN}"),
    (b"ORC", f"is an ORC file. {_AGAIN}"),
    (b"%PDF", f"is a PDF document. {_AGAIN}"),
    (b"SQLite format 3\x00", f"is an SQLite database. {_AGAIN}"),
)
_NUL = "is not text, or UTF-16 or UTF-32 without byte order mark. Save it again as 'CSV UTF-8'."
UTF_8, UTF_16 = "utf-8-sig", "utf-16"


class Format(enum.StrEnum):
    CSV = "CSV"
    CSV_GZ = "CSV, gzip"
    PARQUET = "Parquet"
    JSON = "JSON"
    JSON_GZ = "JSON, gzip"

    @property
    def is_gzip(self) -> bool:
        return self in (Format.CSV_GZ, Format.JSON_GZ)

    @property
    def is_json(self) -> bool:
        return self in (Format.JSON, Format.JSON_GZ)


def sniff(path: Path, name: str) -> tuple[Format, bytes]:
    """Return the format and the first bytes (unpacked). FocusFileError for an unsupported format."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if not head:
        raise FocusFileError(f"{name} is empty. {_AGAIN}")
    if head.startswith(b"PAR1"):
        return Format.PARQUET, head
    if head.startswith(b"\x1f\x8b"):
        unpacked = _text_head(_unpack(head, name), f"{name} (unpacked)")
        return Format.JSON_GZ if _is_json(unpacked) else Format.CSV_GZ, unpacked
    text = _text_head(head, name)
    return Format.JSON if _is_json(text) else Format.CSV, text


def _is_json(head: bytes) -> bool:
    return _text(head).startswith((b"{", b"["))


def _text(head: bytes) -> bytes:
    """Return the text in UTF-8, without its byte order mark."""
    text = head.decode(UTF_16, "ignore").encode() if encoding_of(head) == UTF_16 else head
    return text.removeprefix(codecs.BOM_UTF8).lstrip()


def _unpack(head: bytes, name: str) -> bytes:
    unpacked = _inflate(head)
    if not unpacked:
        raise FocusFileError(f"{name} is a gzip file without content. Download it again.")
    if unpacked.startswith(b"PAR1"):
        raise FocusFileError(f"{name} is Parquet inside gzip. Decompress it first.")
    if unpacked[257:262] == b"ustar":
        raise FocusFileError(f"{name} is a tar archive. Extract and import its files.")
    return unpacked


def _inflate(head: bytes) -> bytes:
    """Unpack as much as possible of the first bytes, over several gzip members if necessary."""
    unpacked, remaining = b"", head
    while remaining and len(unpacked) < HEAD:
        member = zlib.decompressobj(wbits=31)
        try:
            unpacked += member.decompress(remaining, HEAD)
        except zlib.error:
            break
        remaining = member.unused_data
    return unpacked


def _text_head(head: bytes, name: str) -> bytes:
    for mark, problem in _FOREIGN:
        if head.startswith(mark):
            raise FocusFileError(f"{name} {problem}")
    text = _text(head)
    if b"\0" in text[:200]:
        raise FocusFileError(f"{name} {_NUL}")
    if not text:
        raise FocusFileError(f"{name} has only blank lines. {_AGAIN}")
    if text.startswith(b"<") and not _looks_like_columns(text):
        raise FocusFileError(f"{name} is a web page or XML, perhaps an expired sign-in. {_AGAIN}")
    return head


def encoding_of(head: bytes) -> str:
    """Return the encoding of a text with this start: UTF-16 needs its byte order mark, which Excel writes."""
    return UTF_16 if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else UTF_8


def _looks_like_columns(text: bytes) -> bool:
    return b"," in text.split(b"\n", 1)[0] and b">" not in text.split(b",", 1)[0]


_AWS: Final = "In the AWS console under Billing, Data Exports, create an export of the table “FOCUS 1.2 with AWS columns”"
_GOOGLE: Final = "It has totals of a month. Let Google Cloud Billing export detailed usage to BigQuery, export that table as Parquet"
_ORACLE: Final = (
    "In the Oracle console under Cost Management, Cost and usage reports, take the files in “FOCUS Reports”"
)


def detect_foreign_format(names: Sequence[str]) -> str | None:
    """Describe a file with these columns and how to get FOCUS instead, in sentences that follow its name.

    None for a file that has FOCUS's BilledCost, or is of no known provider.
    """
    folded = {fold(name) for name in names}
    if fold("BilledCost") in folded:
        return None
    for describe, source in ((_oracle, _ORACLE), (_aws, _AWS), (_google, _GOOGLE)):
        kind = describe(names, folded)
        if kind:
            return f"is {kind}, not FOCUS, and cannot be imported. {source}, and import that."
    return None


def _aws(names: Sequence[str], folded: set[str]) -> str | None:
    if {"linkedaccountid", "recordtype", "productname"} <= folded:
        return "an AWS detailed billing report"
    if "totalcosts" in folded and names and fold(names[0]) not in ("", "totalcosts"):
        return "a table of AWS Cost Explorer"
    return None


def _google(names: Sequence[str], folded: set[str]) -> str | None:
    if names and fold(names[0]) == "invoicenumber" and len(names) <= 3:
        return "the cost table of the Google Cloud console"
    if {"skudescription", "servicedescription", "usagestartdate"} <= folded:
        return "the cost table of the Google Cloud console"
    return None


def _oracle(names: Sequence[str], folded: set[str]) -> str | None:
    return "an Oracle usage report" if "lineitemintervalusagestart" in folded else None
