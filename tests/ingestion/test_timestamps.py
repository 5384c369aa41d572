"""Which texts are a timestamp, and which moment they mean."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.timestamps import _ISO, _from_iso, hint, parse_timestamp

each = pytest.mark.parametrize


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@each(
    ("text", "moment"),
    [
        # calendar dates, extended and basic
        ("2026-11-20", "2026-11-20"),
        ("20261120", "2026-11-20"),
        ("2026-11-20T12:00:00Z", "2026-11-20T12:00:00"),
        ("2026-11-20t12:00:00z", "2026-11-20T12:00:00"),
        ("2026-11-20 12:00:00", "2026-11-20T12:00:00"),
        ("2026-11-20T12:00:00", "2026-11-20T12:00:00"),
        ("20261120T120000Z", "2026-11-20T12:00:00"),
        ("2026-11-20T12:34", "2026-11-20T12:34:00"),
        ("2026-11-20T12", "2026-11-20T12:00:00"),
        ("+002026-11-20T12:00:00Z", "2026-11-20T12:00:00"),
        # week dates and days of the year
        ("2026-W47-5", "2026-11-20"),
        ("2026W475T120000Z", "2026-11-20T12:00:00"),
        ("2026-324", "2026-11-20"),
        ("2024366", "2024-12-31"),
        # fractions, cut off after the microsecond
        ("2026-11-20T12:00:00.5Z", "2026-11-20T12:00:00.500000"),
        ("2026-11-20T12:00:00,25Z", "2026-11-20T12:00:00.250000"),
        ("2026-11-20T12:00:00.123456789Z", "2026-11-20T12:00:00.123456"),
        ("2026-11-20T12:00:00.999999999Z", "2026-11-20T12:00:00.999999"),
        ("2026-11-20T12:30.5Z", "2026-11-20T12:30:30"),
        ("2026-11-20T12.5", "2026-11-20T12:30:00"),
        # zones
        ("2026-11-20T12:00:00+02:00", "2026-11-20T10:00:00"),
        ("2026-11-20T12:00:00-0530", "2026-11-20T17:30:00"),
        ("2026-11-20T12:00:00+02", "2026-11-20T10:00:00"),
        ("2026-11-20T12:00:00\u221205:00", "2026-11-20T17:00:00"),
        ("2026-11-20T12:00:00-00:00", "2026-11-20T12:00:00"),
        ("2026-11-20 12:00:00 +0200", "2026-11-20T10:00:00"),
        ("2026-11-20 12:00:00 UTC", "2026-11-20T12:00:00"),
        # the ends of days and minutes
        ("2026-11-20T24:00:00Z", "2026-11-21T00:00:00"),
        ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00"),
        # any year
        ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00"),
        ("9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999"),
        ("  2026-11-20T12:00:00Z\n", "2026-11-20T12:00:00"),
    ],
)
def test_iso_8601_is_read_in_its_forms(text: str, moment: str) -> None:
    assert parse_timestamp(text) == utc(moment)


@each(
    ("text", "moment"),
    [
        ("Fri, 20 Nov 2026 12:00:00 GMT", "2026-11-20T12:00:00"),
        ("20 Nov 2026 12:00:00 +0200", "2026-11-20T10:00:00"),
        ("20 Nov 2026 12:00:00 -0000", "2026-11-20T12:00:00"),
        ("Fri, 20 Nov 2026 12:00 EST", "2026-11-20T17:00:00"),
        ("fri, 20 nov 2026 12:00:00 pdt", "2026-11-20T19:00:00"),
        ("Fri, 20 Nov 2026 12:00:00", "2026-11-20T12:00:00"),
        ("Fri, 20 Nov 2026 12:00:00 +0200 (CEST)", "2026-11-20T10:00:00"),
        ("Fri, 03 Apr 26 12:00:00 GMT", "2026-04-03T12:00:00"),
        ("Friday, 20-Nov-26 12:00:00 UTC", "2026-11-20T12:00:00"),
    ],
)
def test_rfc_2822_is_read(text: str, moment: str) -> None:
    assert parse_timestamp(text) == utc(moment)


@each(
    ("text", "moment"),
    [
        ("November 20, 2026", "2026-11-20"),
        ("20 November 2026 3:05 pm", "2026-11-20T15:05:00"),
        ("Fri Nov 20 12:00:00 2026", "2026-11-20T12:00:00"),
        ("Fri Nov 20 12:00:00 UTC 2026", "2026-11-20T12:00:00"),
        ("2026/11/20 12:00", "2026-11-20T12:00:00"),
        ("20-Nov-2026", "2026-11-20"),
        ("03-APR-26", "2026-04-03"),
        ("20 Nov 26 3:05 pm", "2026-11-20T15:05:00"),
        ("2026-11-20 12:00:00 +0000 UTC", "2026-11-20T12:00:00"),
        ("2026-11-20 12:00:00.123456789 -0800 PST m=+0.000012", "2026-11-20T20:00:00.123456"),
        ("2026-11-20 12:00:00 +0530 IST", "2026-11-20T06:30:00"),
        ("2026-11-20 12:00:00 +0300 +03", "2026-11-20T09:00:00"),
        ("20/11/2026", "2026-11-20"),
        ("12/12/2026", "2026-12-12"),
        ("11/20/2026 3:05 pm", "2026-11-20T15:05:00"),
        ("28.11.2026", "2026-11-28"),
        ("4.4.2026 12:00", "2026-04-04T12:00:00"),
        ("28.11.26", "2026-11-28"),
        ("3. April 2026", "2026-04-03"),
        ("2026/04/03", "2026-04-03"),
        ("2026.04.03 12:00", "2026-04-03T12:00:00"),
        ("12:00 2026/04/03", "2026-04-03T12:00:00"),
        ("Fri Nov 20 2026 12:00:00 GMT+0100 (Central European Standard Time)", "2026-11-20T11:00:00"),
        ("2026-11-20 12:00 GMT-5", "2026-11-20T17:00:00"),
    ],
)
def test_other_texts_that_name_a_whole_day_are_read(text: str, moment: str) -> None:
    assert parse_timestamp(text) == utc(moment)


@each(
    "text",
    [
        "",
        " ",
        "x",
        "now",
        "yesterday",
        "12:00",
        "Friday",
        "November",
        "Nov 2026",
        "20 Nov",
        "2026",
        "2026-11",
        "2026-W47",
        "2011123012",
        "17636400000",
        "1763640000000000",
        "-1763640000",
        "1.5",
        "2026-13-01",
        "2026-02-30",
        "2026-366",
        "2026-W54-1",
        "0000-01-01",
        "-0001-01-01T00:00:00Z",
        "-2026-11-20",
        "\u22122026-11-20",
        "+000000-01-01",
        "Jan 1 0000",
        "15 Mar -44",
        "1 Jan 44 BC",
        "2026-11-20x12:00:00",
        "2026-11-20T25:00:00Z",
        "2026-11-20T24:00:01Z",
        "2026-11-20T12:60:00Z",
        "2026-11-20T12:00:61Z",
        "2026-11-20T12:00:00+24:00",
        "2026-11-20T12:00:00+01:60",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "Sun, 31 Feb 2026 12:00:00 GMT",
        "9" * 10_000,
        "Fri, 20 Nov 2026 12:00:00 GMT" + " " * 200 + "x",
    ],
    ids=lambda text: text[:30] or "empty",
)
def test_an_invalid_moment_is_not_read(text: str) -> None:
    assert parse_timestamp(text) is None


@each(
    "text",
    [
        "2026-11-20 12:00 XYZ",
        "2026-11-20 12:00 IST",
        "2026-11-20 12:00 BST",
        "2026-11-20 12:00 Europe/Berln",
        "2026-11-20 12:00 Berlin",
        "2026-11-20 12:00 XYZ+3",
        "2026-11-20 12:00 EST+3",
        "20 Nov 2026 12:00:00 (XYZ)",
    ],
)
def test_a_zone_name_that_is_not_known_is_not_guessed(text: str) -> None:
    assert parse_timestamp(text) is None


@each(
    ("text", "moment"),
    [
        ("2026-11-20 12:00:00 CET", "2026-11-20T11:00:00"),
        ("Fri, 20 Nov 2026 12:00:00 CET", "2026-11-20T11:00:00"),
        ("2026-07-20 12:00 CEST", "2026-07-20T10:00:00"),
        ("2026-11-20 12:00 JST", "2026-11-20T03:00:00"),
        ("2026-11-20 12:00 Europe/Berlin", "2026-11-20T11:00:00"),
        ("2026-07-20 12:00 europe/berlin", "2026-07-20T10:00:00"),
        ("November 20, 2026 3:05 pm America/Argentina/Buenos_Aires", "2026-11-20T18:05:00"),
        ("2026-11-20 12:00 Etc/GMT+5", "2026-11-20T17:00:00"),
        ("2026-11-20 Asia/Kolkata", "2026-11-19T18:30:00"),
        ("2026-11-20T12:00:00[Europe/Berlin]", "2026-11-20T11:00:00"),
        ("2026-11-20T12:00:00+01:00[Europe/Berlin]", "2026-11-20T11:00:00"),
        ("2026-10-25T02:30:00+02:00[Europe/Berlin]", "2026-10-25T00:30:00"),
        ("20261120T120000Z[Europe/Berlin]", "2026-11-20T12:00:00"),
        ("2026-11-20 12:00 UTC", "2026-11-20T12:00:00"),
    ],
)
def test_names_of_one_zone_are_read(text: str, moment: str) -> None:
    assert parse_timestamp(text) == utc(moment)


@each(
    ("text", "moment"),
    [
        ("1763640000", "2025-11-20T12:00:00"),
        ("1763640000.5", "2025-11-20T12:00:00.500000"),
        ("1763640000,1234569", "2025-11-20T12:00:00.123456"),
        ("1763640000123", "2025-11-20T12:00:00.123000"),
        ("1763640000123.4567", "2025-11-20T12:00:00.123456"),
        (" 987654321 ", "2001-04-19T04:25:21"),
        ("202611201200", "2026-11-20T12:00:00"),
        ("20261120120000", "2026-11-20T12:00:00"),
    ],
)
def test_unix_seconds_and_milliseconds_are_read(text: str, moment: str) -> None:
    assert parse_timestamp(text) == utc(moment)


@each(
    ("text", "instead"),
    [
        ("2026-11-20 12:00 IST", "'IST' may mean several offsets"),
        ("Fri, 20 Nov 2026 12:00:00 BST", "'BST' may mean several offsets"),
        ("2026-11-20 12:00 Europe/Berln", "'Europe/Berln' is no IANA time zone"),
        ("2026-10-25 02:30 Europe/Berlin", "twice or never"),
        ("2026-03-29T02:30:00[Europe/Berlin]", "twice or never"),
        ("2026-11-20T12:00:00+02:00[Europe/Berlin]", "its offset is not that of Europe/Berlin then"),
        ("2026-11-20 12:00+01:00 Europe/Berlin", "a zone twice"),
        ("2026-11-20 12:00 CET Europe/Berlin", "a zone twice"),
        ("2026-11-20 12:00 Asia/Tokyo Europe/Berlin", "a zone twice"),
        ("1763640000 Europe/Berlin", "a zone twice"),
        ("2011123012", "unix seconds or a date with its hour"),
        ("2026-11-20 12.30", "its hour has minutes or a fraction"),
        ("2026-11-20T12,50Z", "its hour has minutes or a fraction"),
        ("1763640000000000", "in seconds (10 digits) or milliseconds (13)"),
    ],
)
def test_an_ambiguous_time_is_refused_with_an_example(text: str, instead: str) -> None:
    assert parse_timestamp(text) is None
    assert instead in hint(text)
    assert re.search(r"2026-11-02T10:00:00|10 digits", hint(text))
    assert len(hint(text)) < 140, "with its beginning it has to fit a rejected line"


@each(
    ("text", "instead"),
    [
        ("03.04.2026", "write 2026-04-03 or 2026-03-04"),
        ("3.4.2026 12:00", "write 2026-04-03 or 2026-03-04"),
        ("Fri 03.04.2026", "write 2026-04-03 or 2026-03-04"),
        ("03/04/2026", "write 2026-04-03 or 2026-03-04"),
        ("12:00 03/04/2026", "write 2026-04-03 or 2026-03-04"),
        ("03-04-2026 12:00 Europe/Berlin", "write 2026-04-03 or 2026-03-04"),
        ("03 04 2026", "write 2026-04-03 or 2026-03-04"),
        ("3rd 4 2026", "write 2026-04-03 or 2026-03-04"),
        ("03.04.26", "write 2026-04-03 or 2026-03-04"),
        ("11/12/2026 3:05 pm", "write 2026-12-11 or 2026-11-12"),
        ("26/11/20", "write 2026-11-20 or 2020-11-26"),
        ("261120", "write 2026-11-20 or 2020-11-26"),
        ("11.28.2026", "dates with dots begin with the day; write 2026-04-03"),
        ("4.13.26 10:00", "dates with dots begin with the day; write 2026-04-03"),
    ],
)
def test_a_date_that_may_be_several_days_is_refused_with_each(text: str, instead: str) -> None:
    assert parse_timestamp(text) is None
    assert hint(text).endswith(instead)


@each("text", ["", "soon", "2026-02-30", "12:00", "9" * 500])
def test_text_other_than_a_date_has_no_hint(text: str) -> None:
    assert hint(text) == ""


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_the_zone_of_the_server_does_not_matter(zone: str) -> None:
    texts = ["2026-11-20 12:00", "November 20, 2026 12:00", "2026-11-20 12:00 EST", "2026-11-20 12:00 IST"]
    script = (
        f"from ingestion.timestamps import parse_timestamp as p; print([str(p(text)) for text in {texts}])"
    )

    output = subprocess.check_output(
        [sys.executable, "-c", script], env={**os.environ, "TZ": zone}, text=True
    )

    assert output.count("2026-11-20 12:00:00+00:00") == 2
    assert "2026-11-20 17:00:00+00:00" in output
    assert "None" in output


moments = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 hypothesis adds the zone
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001 hypothesis adds the zone
    timezones=st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))),
)


@given(moments, st.sampled_from(["T", " ", "t"]))
def test_times_written_by_python_are_read_as_the_same_time(moment: datetime, separator: str) -> None:
    text = moment.isoformat(separator)

    assert parse_timestamp(text) == moment
    assert parse_timestamp(re.sub(r"(?<=\d)[-:]", "", text[:-6]) + text[-6:]) == moment


digits = st.from_regex(
    r"\A20[0-9]{2}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-6][0-9]:[0-6][0-9]([.,][0-9]{1,9})?(Z|[+-][0-2][0-9](:?[0-9]{2})?)?\Z"
)


@given(digits)
def test_the_quick_way_reads_what_the_whole_grammar_does(text: str) -> None:
    match = _ISO.fullmatch(text)
    assert match
    try:
        expected = _from_iso(match.groupdict())
    except (ValueError, OverflowError):
        expected = None

    assert parse_timestamp(text) == expected


@given(st.text(max_size=140) | st.text(alphabet="0123456789-:.+TWZ /,adpmGMTNov\x00²٣", max_size=40))
def test_any_text_is_a_moment_in_utc_or_nothing(text: str) -> None:
    moment = parse_timestamp(text)

    assert moment is None or moment.utcoffset() == timedelta()
