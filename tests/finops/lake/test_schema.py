from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from finops.lake import schema

ANY_TEXT = st.text(st.characters(codec=None))
# Letters that some engine folds to another one of these.
TREACHEROUS = "kKsSßẞiI^{}1\N{KELVIN SIGN}\N{LATIN SMALL LETTER LONG S}\N{LATIN SMALL LETTER DOTLESS I}İ"


@pytest.mark.parametrize(
    ("key", "column"),
    [
        ("env", "tag:env"),
        ("Env", "tag:^env"),
        ("ENV", "tag:^e^n^v"),
        ("a^b", "tag:a^^b"),
        ("aws:createdBy", "tag:aws:created^by"),
        ("Kostenträger Ü", "tag:^kostenträger ^ü"),
        ("straße", "tag:stra^{df}e"),
        ("\N{KELVIN SIGN}", "tag:^{212a}"),
        ("a\x00b", "tag:a^{0}b"),
        ("", "tag:"),
    ],
)
def test_a_key_is_written_with_carets(key: str, column: str) -> None:
    assert schema.tag_column(key) == column
    assert schema.tag_key(column) == key


@given(ANY_TEXT)
def test_every_key_is_restored_from_its_column_name(key: str) -> None:
    assert schema.tag_key(schema.tag_column(key)) == key
    assert schema.dimension_key(schema.dimension_column(key)) == key


@given(ANY_TEXT)
def test_a_column_name_is_its_own_case_folding(key: str) -> None:
    column = schema.tag_column(key)
    assert column == column.lower() == column.casefold()
    assert all(char.upper().lower() == char for char in column)
    column.encode()


@given(st.text(TREACHEROUS, max_size=4), st.text(TREACHEROUS, max_size=4))
def test_two_keys_never_share_a_folded_column(one: str, other: str) -> None:
    columns = {schema.tag_column(key).casefold() for key in (one, other)}
    assert len(columns) == len({one, other})


def test_duckdb_keeps_keys_separate_that_differ_in_case() -> None:
    keys = ["env", "Env", "ENV", "eNv", "é", "É"]
    facts = pa.table({schema.tag_column(key): [key] for key in keys})
    with duckdb.connect() as connection:
        names = ", ".join(f'"{schema.tag_column(key)}"' for key in keys)
        row = connection.from_arrow(facts).query("facts", f"SELECT {names} FROM facts").fetchone()
    assert row == tuple(keys)


@pytest.mark.parametrize("column", ["service", "dim:env", "tag:a^", "tag:a^{zz}"])
def test_a_column_that_is_no_tag_is_refused(column: str) -> None:
    with pytest.raises(ValueError):
        schema.tag_key(column)


def test_a_segment_schema_is_the_base_columns_and_then_the_keys() -> None:
    full = schema.segment_schema(schema.Kind.COST, ["env", "Env"])
    assert full.names == [*schema.COST_SCHEMA.names, "tag:env", "tag:^env"]
