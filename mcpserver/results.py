"""Encoding of answers and their links: a Decimal becomes a number with at most six decimal places, here and nowhere earlier."""

from __future__ import annotations

import dataclasses
import re
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from finops.budgets.forecast_answers import ForecastAnswer
from finops.costs.answers import SpendAnswer
from finops.exchange_rates.answers import AppliedConversion
from finops.lake.engine.conversion import display_currency
from finops.lib.answers import largest_that_fits
from finops.lib.money import round_amount
from finops.lib.sentences import HIDDEN_CHARACTERS, escape_hidden, truncate
from finops.lib.url_query import UrlQuery
from finops.receipts.figures import decode_figures
from finops.unitcosts.answers import UnitCostAnswer
from ingestion.schemas import UsageAnswer
from mcpserver.context import ToolCall


def new_incident() -> str:
    """The number of an unexpected error, by which its log line is found; callers see no other detail of the error."""
    return uuid.uuid4().hex[:12]


_encoder = msgspec.json.Encoder(decimal_format="number")


class InsufficientScope(Exception):
    """A write tool was called with a read-only OAuth token; the client can ask the person for more access."""


@dataclasses.dataclass(frozen=True)
class ToolOutcome:
    """The outcome of a call: an answer as JSON, or a text that says what to correct.

    `console_url` is the answer's; `incident` the number of an unexpected error in the log; `field` the invalid
    argument, if the problem is about one; `is_refused`: the credential is read-only, or its cost access is limited.
    `choices` are names of the account that `value`, an argument's, may mean. `csv_uri` is a link to all rows of an
    answer that leaves some out.
    """

    answer: bytes = b""
    problem: str = ""
    console_url: str = ""
    incident: str = ""
    field: str = ""
    is_refused: bool = False
    value: str = ""
    choices: tuple[str, ...] = ()
    csv_uri: str = ""

    @property
    def is_error(self) -> bool:
        return not self.answer

    @property
    def text(self) -> str:
        return escape_hidden(self.problem) if self.is_error else self.answer.decode()


def encode_answer(answer: msgspec.Struct) -> bytes:
    return _encode_visible(_to_json_numbers(msgspec.to_builtins(answer, builtin_types=(Decimal,))))[1]


def _encode_visible(value: Any) -> tuple[Any, bytes]:
    """The value, and its JSON, with hidden characters in all texts and keys escaped."""
    encoded = _encoder.encode(value)
    if not _has_control(encoded) and (encoded.isascii() or not HIDDEN_CHARACTERS.search(encoded.decode())):
        return value, encoded
    shown = _visible(value)
    return shown, _encoder.encode(shown)


_CONTROL = re.compile(rb"\\[bfnrtu]")


def _has_control(encoded: bytes) -> bool:
    """Whether JSON has a control character, most of which it has as a backslash and a letter. 1 µs for 25 KB without a backslash."""
    return b"\x7f" in encoded or (b"\\" in encoded and _CONTROL.search(encoded) is not None)


def _visible(value: Any) -> Any:
    if isinstance(value, str):
        return escape_hidden(value)
    if isinstance(value, dict):
        return {escape_hidden(key): _visible(item) for key, item in value.items()}
    return [_visible(item) for item in value] if isinstance(value, list) else value


MAX_ANSWER_BYTES = 25_000


CONVERSION_BYTES = 4_500
"""Bytes reserved for exchange rates in a converted answer."""


RECEIPT_BYTES = 40
"""Bytes reserved for a receipt in every answer."""


def fits(answer: msgspec.Struct) -> bool:
    """Whether an answer is small enough for an assistant's context."""
    room = MAX_ANSWER_BYTES - RECEIPT_BYTES - (CONVERSION_BYTES if display_currency() else 0)
    most = largest_size(answer)
    return (most is not None and most <= room) or len(encode_answer(answer)) <= room


_LONGER = (b'series":', b"E+", b"Inf", b"NaN")
"""What may grow by more than an exponent does: a series gets its unit; 1E+9 and infinity get other digits."""


def largest_size(answer: msgspec.Struct) -> int | None:
    """An upper bound of the answer's bytes. The numbers are not rounded, which would take fifty times as long. None
    if the answer has values that are encoded in another way."""
    encoded = _encoder.encode(answer)
    if _has_control(encoded) or not encoded.isascii() or any(part in encoded for part in _LONGER):
        return None
    # Rounding makes numbers shorter, except 6E-7, which becomes 0.000001.
    return len(encoded) + len("0.000001") * encoded.count(b"E-")


Page = TypeVar("Page", bound=msgspec.Struct)


def page_that_fits(make: Callable[[int], Page], limit: int) -> Page:
    """Return `make(limit)`, with half as many rows until the answer fits; `truncated` then gives the reason."""

    def page_of(count: int) -> Page:
        answer = make(count)
        if count == limit:
            return answer
        note = f"{count} of {limit} requested: answers are limited to {MAX_ANSWER_BYTES // 1000} KB."
        return msgspec.structs.replace(answer, truncated=f"{note} {getattr(answer, 'truncated', '')}".strip())

    return largest_that_fits(page_of, limit, fits)


def _conversion(conversion: AppliedConversion) -> dict[str, Any]:
    """The exchange rates with all their digits, as text: six decimal places are too few for the rate of a yen."""
    fields: dict[str, Any] = msgspec.to_builtins(conversion, builtin_types=(Decimal,))
    for rate in fields["exchange_rates"]:
        rate["rate"] = f"{rate['rate'].normalize():f}"
    return fields


def _in_currency(url: str, currency: str) -> str:
    """The page in the same currency."""
    return f"{url}{'&' if '?' in url else '?'}currency={currency}" if url else ""


_LENGTHS = (2000, 500, 200, 80, 40)
_UNTRUNCATED_KEYS = ("console_url", "cursor", "receipt")


def encode_to_size(
    answer: msgspec.Struct,
    limit: int,
    conversion: AppliedConversion | None = None,
    receipt: Callable[[bytes], str] | None = None,
) -> bytes:
    """Return the answer as JSON, with its conversion and receipt, if any. In an answer of more than `limit` bytes the
    longest texts are truncated, which `truncated` states if the answer has this field.

    `receipt` issues the receipt of the answer's figures (`encode_figures`).

    Names in pushed usage and bills may have megabytes. Summarizing many short rows is the task of the tool.
    """
    builtins = msgspec.to_builtins(answer, builtin_types=(Decimal,))
    if conversion is not None:
        builtins["conversion"] = _conversion(conversion)
        builtins["console_url"] = _in_currency(builtins.get("console_url", ""), conversion.display_currency)
    whole, encoded = _encode_visible(_to_json_numbers(builtins))
    if receipt is not None:
        whole["receipt"] = code = receipt(encode_figures(whole))
        encoded = encoded[:-1] + b',"receipt":"' + code.encode() + b'"}'
    for length in _LENGTHS:
        if len(encoded) <= limit:
            break
        short = _truncate_texts(whole, length)
        if "truncated" in short:
            short["truncated"] = f"{short['truncated']} Texts are truncated to {length} characters.".strip()
        encoded = _encoder.encode(short)
    return encoded


TEXTS = frozenset(
    {"account", "summary", "warnings", "hint", "console_url", "truncated", "conversion", "receipt"}
)
"""Fields of an answer that hold text and no figures."""


def encode_figures(whole: Mapping[str, Any]) -> bytes:
    """The figures of an answer that is ready to be encoded."""
    return _encoder.encode({name: value for name, value in whole.items() if name not in TEXTS})


def figures(answer: msgspec.Struct) -> dict[str, Any]:
    """The figures of a decoded answer."""
    builtins = msgspec.to_builtins(answer, builtin_types=(Decimal,))
    whole, _ = _encode_visible(_to_json_numbers(builtins))
    return decode_figures(encode_figures(whole))


def _truncate_texts(value: Any, length: int) -> Any:
    if isinstance(value, str):
        return truncate(value, length)
    if isinstance(value, dict):
        return {
            truncate(key, length): item if key in _UNTRUNCATED_KEYS else _truncate_texts(item, length)
            for key, item in value.items()
        }
    return [_truncate_texts(item, length) for item in value] if isinstance(value, list) else value


_PLAIN = frozenset({str, int, bool, type(None)})


def _to_json_numbers(value: Any) -> Any:
    # By type and without a call for each text: an answer of 25 KB has thousands of values.
    kind = type(value)
    if kind is dict:
        return _with_units(
            {key: item if type(item) in _PLAIN else _to_json_numbers(item) for key, item in value.items()}
        )
    if kind is list or kind is tuple:
        return [item if type(item) in _PLAIN else _to_json_numbers(item) for item in value]
    return _number(value) if kind is Decimal else value


SERIES = ("series", "lower_series", "upper_series")
UNITS = {"currency": "amounts", "unit": "quantities"}


def _with_units(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the answer with each series as an object of its currency (or unit) and its figures by day: a series that
    is copied from an answer keeps its currency."""
    unit = "currency" if "currency" in fields else "unit"
    if unit in fields:
        for name in SERIES:
            if name in fields:
                fields[name] = {unit: fields[unit], UNITS[unit]: fields[name]}
    return fields


def _number(value: Decimal) -> Decimal | int | None:
    """A number without trailing zeros or exponent. NaN is not valid JSON and becomes null."""
    if not value.is_finite():
        return None
    short = round_amount(value).normalize()
    whole = int(short)
    return whole if whole == short else short


MAX_URL = 4_000
"""Characters of a URL that browsers and proxies accept."""

LinkedAnswer = TypeVar("LinkedAnswer", SpendAnswer, ForecastAnswer, UnitCostAnswer, UsageAnswer)


def with_console_url(
    call: ToolCall, page: str, answer: LinkedAnswer, query: UrlQuery, short: UrlQuery
) -> LinkedAnswer:
    """Return the answer with the URL of the page with this query. If the URL is longer than MAX_URL, the page gets
    the query `short`, which is the query without its filters, and the answer gets a warning."""
    url = call.console_url(page, query.to_params())
    if len(url) <= MAX_URL:
        return msgspec.structs.replace(answer, console_url=url)
    note = "The filters are too long for a link, so console_url omits them."
    url = call.console_url(page, short.to_params())
    return msgspec.structs.replace(answer, console_url=url, warnings=[*answer.warnings, note])
