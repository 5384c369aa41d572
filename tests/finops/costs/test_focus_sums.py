"""Every sum over every file we have, read back from the lake, equals a plain computation, to the last digit."""

from __future__ import annotations

import pytest

from finops.costs.models import CostSource
from finops.lake.schema import tag_column
from tests.cast import Cast
from tests.factories.imports import cost_by, import_bill
from tests.finops.costs import reference_model

COLUMNS = {
    "all": None,
    "service": "service",
    "month": "billing_period",
    "day": "charge_date",
    "currency": "currency",
}


@pytest.mark.parametrize("file", reference_model.COST_FILES)
def test_sums_equal_a_plain_computation(file: str, cast: Cast, source: CostSource) -> None:
    import_bill(cast, source, reference_model.DATA / file, **reference_model.missing_defaults(file))
    actual = {by: cost_by(cast.account, column) for by, column in COLUMNS.items()}
    assert actual == {by: reference_model.sums(file, by) for by in COLUMNS}


@pytest.mark.parametrize(
    "file", [file for file in reference_model.COST_FILES if reference_model.tag_keys(file)]
)
def test_sums_by_every_tag_equal_a_plain_computation(file: str, cast: Cast, source: CostSource) -> None:
    import_bill(cast, source, reference_model.DATA / file, **reference_model.missing_defaults(file))
    keys = sorted(reference_model.tag_keys(file))
    actual = {key: cost_by(cast.account, tag_column(key), tuple(keys)) for key in keys}
    assert actual == {key: reference_model.sums(file, f"tag:{key}") for key in keys}


def test_every_file_we_have_is_tested() -> None:
    assert len(reference_model.COST_FILES) == 34
