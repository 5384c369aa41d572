"""Every sum over every file we have, read back from the lake, equals a plain computation, to the last digit."""

from __future__ import annotations

import pytest

from finops.costs.models import CostSource
from finops.lake.schema import tag_column
from tests.cast import Cast
from tests.finops.costs import plain
from tests.finops.costs.importing import cost_by, imported

COLUMNS = {
    "all": None,
    "service": "service",
    "month": "billing_period",
    "day": "charge_date",
    "currency": "currency",
}


@pytest.mark.parametrize("file", plain.COST_FILES)
def test_sums_equal_a_plain_computation(file: str, cast: Cast, source: CostSource) -> None:
    imported(cast, source, plain.DATA / file, **plain.needed_defaults(file))
    found = {by: cost_by(cast.account, column) for by, column in COLUMNS.items()}
    assert found == {by: plain.sums(file, by) for by in COLUMNS}


@pytest.mark.parametrize("file", [file for file in plain.COST_FILES if plain.tag_keys(file)])
def test_sums_by_every_tag_equal_a_plain_computation(file: str, cast: Cast, source: CostSource) -> None:
    imported(cast, source, plain.DATA / file, **plain.needed_defaults(file))
    keys = sorted(plain.tag_keys(file))
    found = {key: cost_by(cast.account, tag_column(key), tuple(keys)) for key in keys}
    assert found == {key: plain.sums(file, f"tag:{key}") for key in keys}


def test_every_file_we_have_is_tested() -> None:
    assert len(plain.COST_FILES) == 34
