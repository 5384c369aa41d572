"""A mapping guessed from a file, so that most need only confirmation."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from finops.costs.focus.values import NumberFormat
from finops.costs.mapping.document import DateRule, MappingDocument, problems
from tests.finops.costs.mapping.mapped_files import suggestion


def facts(document: MappingDocument) -> dict[str, Any]:
    """What it maps by FOCUS column: a column, with its factor or format, or a value in marks."""
    return document.facts


def test_a_german_invoice_needs_no_change() -> None:
    suggested_mapping = suggestion(
        "Rechnungsdatum;Datum;Leistung;Menge;Einheit;Betrag (EUR);Währung;Kostenstelle\n"
        "01.06.2026;13.05.2026;Server;1,5;Stück;1.234,56;EUR;web\n"
    )
    assert problems(suggested_mapping) == []
    assert facts(suggested_mapping) == {
        "ChargePeriodStart": "Datum",
        "BilledCost": "Betrag (EUR)",
        "ConsumedQuantity": "Menge",
        "ConsumedUnit": "Einheit",
        "ServiceName": "Leistung",
        "BillingCurrency": "Währung",
        "ProviderName": "“Hetzner”",
        "ChargeCategory": "“Usage”",
        "Tags": "Kostenstelle",
    }
    assert suggested_mapping.decimal_mark is NumberFormat.COMMA
    assert suggested_mapping.dates["ChargePeriodStart"].format == "%d.%m.%Y"


def test_hours_of_an_api_need_no_change() -> None:
    suggested_mapping = suggestion(
        "usage_start,usage_end,account_id,region,service,resource_id,cost_usd,tag:team,tag:env\n"
        "2026-05-01T13:00:00Z,2026-05-01T14:00:00Z,1,eu,api,i-1,0.5,core,prod\n"
    )
    assert problems(suggested_mapping) == []
    assert facts(suggested_mapping)["ChargePeriodStart"] == "usage_start"
    assert facts(suggested_mapping)["BillingCurrency"] == "“USD”"
    assert facts(suggested_mapping)["SubAccountId"] == "account_id"
    assert facts(suggested_mapping)["ResourceId"] == "resource_id"
    assert facts(suggested_mapping)["Tags"] == "team, env"
    assert suggested_mapping.granularity.value == "hour"


@pytest.mark.parametrize(
    ("name", "factor"),
    [("cost_in_cents", "0.01"), ("Amount (cents)", "0.01"), ("cost_micros", "0.000001"), ("cost", "1"), ("percent_cost", "1")],
)  # fmt: skip
def test_the_unit_is_in_the_name(name: str, factor: str) -> None:
    suggested_mapping = suggestion(f"date,{name}\n2026-05-01,100\n")
    assert suggested_mapping.amounts["BilledCost"].factor == Decimal(factor)


@pytest.mark.parametrize(
    ("value", "format_", "granularity"),
    [
        ("2026-05-13", "iso", "day"),
        ("13/05/2026", "%d/%m/%Y", "day"),
        ("05/13/2026", "%m/%d/%Y", "day"),
        ("20260513", "%Y%m%d", "day"),
        ("202605", "%Y%m", "month"),
        ("2026-05", "%Y-%m", "month"),
        ("May 2026", "%b %Y", "month"),
        ("1780185600", "epoch_s", "day"),
        ("1780189200000", "epoch_ms", "hour"),
        ("13.05.2026 14:30", "%d.%m.%Y %H:%M", "hour"),
    ],
)
def test_the_date_format_is_that_of_the_values(value: str, format_: str, granularity: str) -> None:
    suggested_mapping = suggestion(f"date,cost\n{value},100\n")
    assert suggested_mapping.dates["ChargePeriodStart"].format == format_
    assert suggested_mapping.granularity.value == granularity


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_dates_that_may_begin_with_the_day_or_the_month_have_no_format_until_a_person_chooses(
    delimiter: str,
) -> None:
    ambiguous = suggestion(f"date{delimiter}cost\n05/06/2026{delimiter}1\n07/08/2026{delimiter}2\n")
    assert ambiguous.dates["ChargePeriodStart"] == DateRule("date", "")
    assert [each.field for each in problems(ambiguous)] == ["BillingCurrency", "ChargePeriodStart"]

    told_by_one = suggestion(f"date{delimiter}cost\n05/06/2026{delimiter}1\n13/08/2026{delimiter}2\n")
    assert told_by_one.dates["ChargePeriodStart"].format == "%d/%m/%Y"


def test_first_days_of_months_alone_are_months() -> None:
    assert suggestion("date,cost\n2026-05-01,1\n2026-06-01,1\n").granularity.value == "month"


def test_costs_that_are_mostly_negative_are_paid() -> None:
    assert suggestion("date,cost\n2026-05-13,-10\n2026-05-14,2\n").costs_are_negative
    assert not suggestion("date,cost\n2026-05-13,10\n2026-05-14,-2\n").costs_are_negative


def test_a_column_that_is_named_so_and_holds_something_else_is_passed_over() -> None:
    suggested_mapping = suggestion("date,month,total,cost,currency,amount\nx,2026-05,n/a,free,dollars,3\n")
    assert facts(suggested_mapping)["ChargePeriodStart"] == "month"
    assert facts(suggested_mapping)["BilledCost"] == "amount"
    assert suggested_mapping.texts["BillingCurrency"].column == ""


def test_types_of_parquet_say_what_is_a_time() -> None:
    table = pa.table(
        {
            "day": pa.array([date(2026, 5, 13)]),
            "cost": pa.array([Decimal("1.5")]),
            "tags": pa.array([{"a": "b"}]),
            "currency": ["EUR"],
        }
    )
    data = io.BytesIO()
    pq.write_table(table, data)
    suggested_mapping = suggestion(data.getvalue())
    assert problems(suggested_mapping) == []
    assert facts(suggested_mapping)["ChargePeriodStart"] == "day"


def test_a_file_of_nothing_that_is_known_suggests_what_it_can() -> None:
    suggested_mapping = suggestion("a,b\n1,2\n")
    assert facts(suggested_mapping) == {
        "ServiceName": "“Hetzner”",
        "ProviderName": "“Hetzner”",
        "ChargeCategory": "“Usage”",
        "BillingCurrency": "“”",
    }


@pytest.mark.parametrize("values", [["1.234", "12.500"], ["1,234", "7,001"], ["1.234", "3"]])
def test_numbers_of_two_readings_have_no_decimal_mark_until_a_person_chooses(values: list[str]) -> None:
    lines = "".join(f"2026-05-{place:02};{value}\n" for place, value in enumerate(values, 1))
    ambiguous = suggestion(f"date;cost eur\n{lines}")
    assert ambiguous.decimal_mark is None
    assert [each.field for each in problems(ambiguous)] == ["decimal_mark"]

    told_by_one = suggestion(f"date;cost eur\n{lines}2026-05-09;0,5\n")
    assert told_by_one.decimal_mark is NumberFormat.COMMA


def test_numbers_that_parquet_stores_as_such_have_one_reading() -> None:
    data = io.BytesIO()
    pq.write_table(
        pa.table({"day": [date(2026, 5, 13)], "cost": [Decimal("1.234")], "currency": ["EUR"]}), data
    )
    assert suggestion(data.getvalue()).decimal_mark is NumberFormat.POINT
