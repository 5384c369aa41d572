"""Files of rates: every line is checked and named, and hostile XML is refused."""

from __future__ import annotations

from contextlib import suppress
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.exchange_rates.rate_files import RateFileError, rates_of_csv, rates_of_ecb
from finops.exchange_rates.rates import SourceRate
from finops.lib.errors import UserError

ECB = """<?xml version="1.0" encoding="UTF-8"?>
<gesmes:Envelope xmlns:gesmes="http://www.gesmes.org/xml/2002-08-01"
    xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref">
  <gesmes:subject>Reference rates</gesmes:subject>
  <Cube><Cube time="2026-03-19"><Cube currency="USD" rate="1.0876"/><Cube currency="JPY" rate="164.33"/></Cube>
  <Cube time="2026-03-18"><Cube currency="USD" rate="1.0901"/></Cube></Cube>
</gesmes:Envelope>"""
BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "1"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<Cube><Cube time="2026-03-19"><Cube currency="USD" rate="&b;"/></Cube></Cube>"""
EXTERNAL = """<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><Cube>&a;</Cube>"""


def csv(*lines: str, header: str = "date,from,to,rate") -> bytes:
    return "\n".join([header, *lines]).encode()


def problem(content: bytes) -> str:
    with pytest.raises(RateFileError) as refusal:
        rates_of_csv(content)
    return refusal.value.message


def test_a_csv_gives_its_rates_exactly() -> None:
    assert rates_of_csv(csv("2026-03-19,eur,USD,1.08760000000001", "")) == [
        SourceRate(date(2026, 3, 19), "EUR", "USD", Decimal("1.08760000000001"), "uploaded")
    ]


def test_other_spellings_of_the_header_and_semicolons_are_read() -> None:
    content = csv("0.85;2026-03-19;GBP;EUR", header="\ufeffExchange Rate;Day;Quote currency;Base_Currency")
    assert [(rate.base, rate.quote, rate.rate) for rate in rates_of_csv(content)] == [
        ("EUR", "GBP", Decimal("0.85"))
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("19.03.2026,EUR,USD,1", "Line 2: '19.03.2026' is not a date such as 2026-11-20."),
        ("2026-02-30,EUR,USD,1", "Line 2: '2026-02-30' is not a date such as 2026-11-20."),
        ("1960-01-01,EUR,USD,1", "Line 2: 1960-01-01 is before 1990-01-01 or more than a year ahead."),
        ("2026-03-19,EUR,US,1", "Line 2: to: 'US' is not an ISO 4217 currency, such as USD or EUR."),
        ("2026-03-19,EUR,EUR,1", "Line 2: The rate is from EUR to itself."),
        ('2026-03-19,EUR,USD,"1,0876"', "Line 2: '1,0876' is not a rate such as 1.0876."),
        ("2026-03-19,EUR,USD,-1", "Line 2: '-1' is not a rate such as 1.0876."),
        ("2026-03-19,EUR,USD,0", "Line 2: A rate is more than 0 and less than 1,000,000."),
        ("2026-03-19,EUR,USD,1000000", "Line 2: A rate is more than 0 and less than 1,000,000."),
        ("2026-03-19,EUR,USD,1.000000000000001", "Line 2: A rate has at most 14 decimals."),
        ("2026-03-19,EUR,USD,NaN", "Line 2: 'NaN' is not a rate such as 1.0876."),
        ("2026-03-19,EUR", "Line 2: '' is not a rate such as 1.0876."),
        ("2026-03-19,EUR,USD,1e5", "Line 2: '1e5' is not a rate such as 1.0876."),
    ],
)
def test_a_wrong_line_is_named_with_what_is_wrong(line: str, expected: str) -> None:
    assert problem(csv(line)).startswith(expected)


def test_a_pair_that_occurs_twice_names_both_lines() -> None:
    content = csv("2026-03-19,EUR,USD,1.1", "2026-03-19,EUR,USD,1.2")
    assert problem(content) == "Line 3: EUR to USD on 2026-03-19 is in line 2 too."


def test_ten_wrong_lines_are_named_and_the_others_counted() -> None:
    assert problem(csv(*["x"] * 25)).splitlines()[-1] == "15 more lines have errors."


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "Line 1 lacks the columns date, from, to, rate."),
        (csv(header="date,from,to"), "Line 1 lacks the column rate."),
        (csv(), "The file has no rates."),
        (b"\xff\xfe\x00", "The file is not UTF-8 text."),
        (b"date\x00", "The file is not text."),
        (b"a" * (5 * 1024**2 + 1), "The file has more than 5 MB."),
        (csv('2026-03-19,EUR,USD,"1'), "Line 2: not valid CSV"),
    ],
)
def test_a_file_that_is_no_table_of_rates_is_refused(content: bytes, expected: str) -> None:
    assert problem(content).startswith(expected)


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: csv(text))))
def test_any_bytes_give_rates_or_a_clear_error(content: bytes) -> None:
    for read in (rates_of_csv, rates_of_ecb):
        with suppress(UserError):
            assert read(content)


@given(st.text(alphabet='<>&;!/="CubetimcrnyaUSD0123456789.- ', max_size=120))
def test_any_xml_gives_rates_or_a_clear_error(text: str) -> None:
    for content in (text, ECB.replace("1.0876", text), ECB.replace("2026-03-19", text)):
        with suppress(UserError):
            assert rates_of_ecb(content.encode())


def test_the_file_of_the_european_central_bank_gives_rates_from_the_euro() -> None:
    assert [(rate.day.day, rate.base, rate.quote, rate.rate) for rate in rates_of_ecb(ECB.encode())] == [
        (19, "EUR", "USD", Decimal("1.0876")),
        (19, "EUR", "JPY", Decimal("164.33")),
        (18, "EUR", "USD", Decimal("1.0901")),
    ]


@pytest.mark.parametrize("content", [BOMB, EXTERNAL])
def test_entities_are_never_expanded(content: str) -> None:
    with pytest.raises(RateFileError, match="document type or entities"):
        rates_of_ecb(content.encode())


@pytest.mark.parametrize("content", [b"", b"<html></html>", b"<Cube>", b"{}", b"<Cube time='x'/>"])
def test_any_other_file_is_refused(content: bytes) -> None:
    with pytest.raises(UserError):
        rates_of_ecb(content)
