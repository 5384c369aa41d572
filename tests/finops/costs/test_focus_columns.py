"""The importer's tables of columns agree with the published data models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from finops.costs.focus import columns as spec
from finops.costs.focus.header import import_columns, read_header
from finops.lake.schema import COST_SCHEMA
from tests.finops.costs import reference_model

MODEL: dict[str, Any] = json.loads((reference_model.DATA / "schema/focus_1_4_model.json").read_text())
COST_AND_USAGE: dict[str, Any] = MODEL["datasets"]["Cost and Usage"]["columns"]


def test_the_columns_of_1_4_are_those_of_the_model() -> None:
    assert spec.columns_of("1.4") == set(COST_AND_USAGE)


@pytest.mark.parametrize("version", ["1.1", "1.2", "1.3", "1.4"])
def test_each_version_brought_the_columns_that_the_model_says(version: str) -> None:
    assert {name for name, each in COST_AND_USAGE.items() if each["version"] == version} == set(
        spec.SINCE[version]
    )


def test_fixed_lists_have_the_values_of_the_model() -> None:
    every = {
        name: each for dataset in MODEL["datasets"].values() for name, each in dataset["columns"].items()
    }
    assert {name: set(values) for name, values in spec.ENUMERATIONS.items()} == {
        name: set(every[name]["allowed_values"]) for name in spec.ENUMERATIONS
    }


def test_required_fields_of_a_row_equal_the_non_null_columns_of_the_model() -> None:
    assert not [name for name in (*spec.NEVER_NULL, *spec.EXPECTED) if COST_AND_USAGE[name]["allows_nulls"]]


@pytest.mark.parametrize("dataset", sorted(spec.DATASETS))
def test_columns_of_the_other_datasets_are_those_of_the_model(dataset: str) -> None:
    model = MODEL["datasets"][dataset]["columns"]
    assert set(spec.DATASETS[dataset].all) <= set(model)
    assert not [name for name in spec.DATASETS[dataset].mandatory if model[name]["allows_nulls"]]


@pytest.mark.parametrize("dataset", sorted(MODEL["datasets"]))
def test_each_dataset_is_recognised_by_its_columns(dataset: str) -> None:
    assert spec.dataset({spec.fold(name) for name in MODEL["datasets"][dataset]["columns"]}) == dataset


def test_every_cost_column_is_filled_from_somewhere() -> None:
    computed = {"charge_date", "billing_period", "source", "actor"}
    assert {*spec.TEXTS, *spec.AMOUNTS, *spec.TIMES, *computed} == set(COST_SCHEMA.names)


def test_every_focus_column_fills_a_cost_column() -> None:
    assert set(import_columns()) == set(spec.KNOWN)


NOT_IN_MICROSOFTS = {
    "AvailabilityZone",
    "PricingCurrencyContractedUnitPrice",
    "PricingCurrencyEffectiveCost",
    "PricingCurrencyListUnitPrice",
}


@pytest.mark.parametrize(
    ("file", "version"), [("azure_FocusCost_1.0.json", "1.0"), ("azure_FocusCost_1.2-preview.json", "1.2")]
)
def test_microsofts_exports_are_recognised_whole(file: str, version: str) -> None:
    described = json.loads((reference_model.DATA / "schema" / file).read_text())
    header = read_header(file, [column["ColumnName"] for column in described["Columns"]], {})
    assert (header.version, header.stray) == (version, ())
    assert set(header.missing) <= NOT_IN_MICROSOFTS
    assert all(name.startswith("x_") for name in header.extensions)
    assert {name for name in header.position if not name.startswith("x:")} <= {
        *spec.KNOWN,
        *spec.ACTOR_COLUMNS,
    }
