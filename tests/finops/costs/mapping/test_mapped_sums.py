"""Sums of mapped files equal what plain Python computes of the raw file, in Decimal."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finops.costs.mapping.document import MappingDocument
from tests.finops.costs.mapping.mapped_files import MappedRead, document, preview_text

Key = tuple[date, str, str, str | None]
"""Month, service, currency, tag `team`."""
Sums = dict[Key, Decimal]


def add_up(rows: list[tuple[Key, Decimal]]) -> Sums:
    sums: Sums = defaultdict(Decimal)
    with localcontext(prec=60):
        for key, amount in rows:
            sums[key] += amount
    return dict(sums)


def sums_of(read: MappedRead) -> Sums:
    return add_up(
        [
            (
                (row["billing_period"], row["service"], row["currency"], row.get("tag:team")),
                row["billed_cost"],
            )
            for row in read.rows
        ]
    )


def text_file(rows: list[dict[str, str]], delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def german() -> tuple[str, MappingDocument, Sums]:
    """Semicolons, decimal commas, thousands, days first, a tag."""
    rows = [
        {
            "Datum": f"{1 + place % 28:02}.{4 + place % 3:02}.2026",
            "Leistung": ("Server", "Volume")[place % 2],
            "Betrag": f"{1 + place}.{place:03},{place % 100:02}",
            "Team": ("web", "")[place % 2],
        }
        for place in range(200)
    ]
    expected = add_up(
        [
            (
                (
                    date(2026, int(row["Datum"][3:5]), 1),
                    row["Leistung"],
                    "EUR",
                    row["Team"] or None,
                ),
                Decimal(row["Betrag"].replace(".", "").replace(",", ".")),
            )
            for row in rows
        ]
    )
    mapping = document(
        amounts={"BilledCost": {"column": "Betrag"}},
        dates={"ChargePeriodStart": {"column": "Datum", "format": "%d.%m.%Y"}},
        texts={"ServiceName": {"column": "Leistung"}},
        tags=[{"column": "Team", "key": "team"}],
        decimal_mark="comma",
    )
    return text_file(rows, ";"), mapping, expected


def cents() -> tuple[str, MappingDocument, Sums]:
    """Whole cents, several currencies, seconds since 1970."""
    start = datetime(2026, 4, 28, tzinfo=UTC)
    rows = [
        {
            "ts": str(int((start + timedelta(hours=place)).timestamp())),
            "product": f"p{place % 4}",
            "cost_cents": str(place * place - 5_000),
            "cur": ("usd", "EUR")[place % 2],
        }
        for place in range(120)
    ]
    expected = add_up(
        [
            (
                (
                    (start + timedelta(hours=place)).date().replace(day=1),
                    row["product"],
                    row["cur"].upper(),
                    None,
                ),
                Decimal(row["cost_cents"]) / 100,
            )
            for place, row in enumerate(rows)
        ]
    )
    mapping = document(
        amounts={"BilledCost": {"column": "cost_cents", "factor": "0.01"}},
        dates={"ChargePeriodStart": {"column": "ts", "format": "epoch_s"}},
        texts={"ServiceName": {"column": "product"}, "BillingCurrency": {"column": "cur"}},
        granularity="hour",
    )
    return text_file(rows), mapping, expected


def negative() -> tuple[bytes, MappingDocument, Sums]:
    """A statement of an account in gzip: what is paid is negative, a refund positive; a row of the total."""
    rows = [
        {"Booked": f"2026-05-{1 + place % 28:02}", "Payee": f"v{place % 3}", "Value": value}
        for place, value in enumerate(["-12.50", "-0.000000000000000001", "(3.25)", "7.125", "-1,000.00"] * 9)
    ]
    numbers = {"(3.25)": "-3.25", "-1,000.00": "-1000.00"}
    expected = add_up(
        [
            ((date(2026, 5, 1), row["Payee"], "EUR", None), -Decimal(numbers.get(row["Value"], row["Value"])))
            for row in rows
        ]
    )
    rows.append({"Booked": "", "Payee": "Total", "Value": "-9"})
    mapping = document(
        amounts={"BilledCost": {"column": "Value"}},
        dates={"ChargePeriodStart": {"column": "Booked"}},
        texts={"ServiceName": {"column": "Payee"}},
        costs_are_negative=True,
        skip_without_date=True,
    )
    return gzip.compress(text_file(rows).encode(), mtime=0), mapping, expected


def monthly() -> tuple[str, MappingDocument, Sums]:
    """Months alone, tabs, a fallback where the service is empty."""
    rows = [
        {"Monat": f"{1 + place % 12:02}/2025", "Posten": ("Miete", "")[place % 2], "Summe": f"{place}.5"}
        for place in range(48)
    ]
    expected = add_up(
        [
            (
                (date(2025, int(row["Monat"][:2]), 1), row["Posten"] or "Other", "EUR", None),
                Decimal(row["Summe"]),
            )
            for row in rows
        ]
    )
    mapping = document(
        amounts={"BilledCost": {"column": "Summe"}},
        dates={"ChargePeriodStart": {"column": "Monat", "format": "%m/%Y"}},
        texts={"ServiceName": {"column": "Posten", "value": "Other"}},
        granularity="month",
    )
    return text_file(rows, "\t"), mapping, expected


def parquet() -> tuple[bytes, MappingDocument, Sums]:
    """Decimals of more places than the lake has, timestamps with a zone, dictionaries."""
    start = datetime(2026, 4, 30, 20, tzinfo=UTC)
    times = [start + timedelta(minutes=30 * place) for place in range(60)]
    amounts = [Decimal(place).scaleb(-6) + Decimal(place) for place in range(60)]
    table = pa.table(
        {
            "at": pa.array(times, pa.timestamp("ns", "UTC")),
            "what": pa.array([f"s{place % 5}" for place in range(60)]).dictionary_encode(),
            "usd": pa.array(amounts, pa.decimal128(38, 10)),
            "team": ["web" if place % 3 else None for place in range(60)],
        }
    )
    data = io.BytesIO()
    pq.write_table(table, data)
    # Two hours ahead in Berlin: the line of 22:00 UTC is of 1 May there.
    expected = add_up(
        [
            (
                (
                    (at + timedelta(hours=2)).date().replace(day=1),
                    f"s{place % 5}",
                    "USD",
                    "web" if place % 3 else None,
                ),
                amount / 1000,
            )
            for place, (at, amount) in enumerate(zip(times, amounts, strict=True))
        ]
    )
    mapping = document(
        amounts={"BilledCost": {"column": "usd", "factor": "0.001"}},
        dates={"ChargePeriodStart": {"column": "at"}},
        texts={"ServiceName": {"column": "what"}, "BillingCurrency": {"value": "USD"}},
        tags=[{"column": "team", "key": "team"}],
        time_zone="Europe/Berlin",
    )
    return data.getvalue(), mapping, expected


def json_lines() -> tuple[str, MappingDocument, Sums]:
    """Objects of JSON, numbers with exponents, an American date."""
    rows: list[dict[str, Any]] = [
        {"d": f"05/{1 + place % 28:02}/2026", "s": "api", "c": f"{place}e-3"} for place in range(30)
    ]
    text = "\n".join(json.dumps(row).replace(f'"{row["c"]}"', row["c"]) for row in rows)
    expected = add_up([((date(2026, 5, 1), "api", "EUR", None), Decimal(row["c"])) for row in rows])
    mapping = document(
        amounts={"BilledCost": {"column": "c"}},
        dates={"ChargePeriodStart": {"column": "d", "format": "%m/%d/%Y"}},
        texts={"ServiceName": {"column": "s"}},
    )
    return text, mapping, expected


def sums_of_columns() -> tuple[str, MappingDocument, Sums]:
    """Net plus tax minus a discount that is written as positive, in cents; some of them empty."""
    rows = [
        {
            "Tag": f"2026-05-{1 + place % 28:02}",
            "Art": ("Gebühr", "MWST", " rabatt ", "Usage", "sonst")[place % 5],
            "Netto": f"{place}.{place:02},5".replace(",", ""),
            "Steuer": ("", f"{place}.000000000000000001", "-0.5")[place % 3],
            "Rabatt": ("", "0.25")[place % 2],
        }
        for place in range(90)
    ]
    expected = add_up(
        [
            (
                (date(2026, 5, 1), row["Art"], "EUR", None),
                (
                    Decimal(row["Netto"]) + Decimal(row["Steuer"] or 0) - Decimal(row["Rabatt"] or 0)
                ).scaleb(-2).quantize(Decimal("1e-18")),
            )
            for row in rows
        ]
    )  # fmt: skip
    more = [{"column": "Steuer"}, {"column": "Rabatt", "is_subtracted": True}]
    mapping = document(
        amounts={"BilledCost": {"column": "Netto", "factor": "0.01", "addends": more}},
        dates={"ChargePeriodStart": {"column": "Tag"}},
        texts={"ServiceName": {"column": "Art"}, "ChargeCategory": CATEGORIES},
    )
    return text_file(rows), mapping, expected


CATEGORIES: dict[str, Any] = {
    "column": "Art",
    "values": {"gebühr": "Usage", "MwSt": "Tax", "Rabatt": "Credit"},
}


def test_charge_categories_of_the_file_become_those_of_focus_and_unknown_ones_are_counted() -> None:
    text, mapping, expected = sums_of_columns()
    by_category: dict[str, Decimal] = defaultdict(Decimal)
    names = {"Gebühr": "Usage", "MWST": "Tax", " rabatt ": "Credit", "Usage": "Usage", "sonst": "sonst"}
    for (_, name, _, _), amount in expected.items():
        by_category[names[name]] += amount

    sums: dict[str, Decimal] = defaultdict(Decimal)
    read = MappedRead(text, mapping)
    for row in read.rows:
        sums[row["charge_category"]] += row["billed_cost"]
    assert sums == by_category
    assert preview_text(text, mapping).unknown_categories == {"sonst": 18}
    assert (
        "Charge categories that FOCUS does not have, kept as they are: 'sonst' (18 lines)."
        in read.report.files[0].notes
    )


def test_the_report_names_the_columns_of_a_sum() -> None:
    text, mapping, _ = sums_of_columns()
    notes = MappedRead(text, mapping).report.files[0].notes
    assert "BilledCost is (Netto + Steuer \N{MINUS SIGN} Rabatt) times 0.01." in notes


def test_a_sum_is_empty_only_where_all_of_its_columns_are() -> None:
    mapping = document(
        amounts={
            "BilledCost": {"column": "Amount"},
            "ConsumedQuantity": {"column": "In", "addends": [{"column": "Out"}]},
        }
    )
    read = MappedRead(
        "Day,Item,Amount,In,Out\n2026-05-01,a,1,2,\n2026-05-01,a,1,,3\n2026-05-01,a,1,,\n", mapping
    )
    assert read.column("consumed_quantity") == [Decimal(2), Decimal(3), None]


def test_the_preview_names_the_part_of_a_sum_that_cannot_be_read() -> None:
    mapping = document(amounts={"BilledCost": {"column": "Amount", "addends": [{"column": "Tax"}]}})
    preview = preview_text(
        "Day,Item,Amount,Tax\n2026-05-01,a,1,2\n2026-05-01,a,1,much\n2026-05-01,a,4,\n"
        "2026-05-01,a,999999999999999,1\n",
        mapping,
    )
    assert (preview.rows, preview.unreadable) == (4, 2)
    assert preview.problem == "row 3, column Tax: 'much' is not a number."
    assert "makes the sum too large" in preview.lines[3].problem
    assert preview.months == {(date(2026, 5, 1), "EUR"): Decimal(7)}


@pytest.mark.parametrize("make", [german, cents, negative, monthly, parquet, json_lines, sums_of_columns])
def test_sums_are_those_of_the_raw_file(
    make: Callable[[], tuple[str | bytes, MappingDocument, Sums]],
) -> None:
    data, mapping, expected = make()
    assert sums_of(MappedRead(data, mapping)) == expected
    preview = preview_text(data, mapping)
    by_month = add_up(
        [((month, "", currency, None), amount) for (month, _, currency, _), amount in expected.items()]
    )
    assert {(month, "", code, None): amount for (month, code), amount in preview.months.items()} == by_month
    by_service = add_up(
        [((date.min, name, code, None), amount) for (_, name, code, _), amount in expected.items()]
    )
    assert {(date.min, *key, None): amount for key, amount in preview.services.items()} == by_service
    assert (preview.unreadable, preview.is_whole) == (0, True)
