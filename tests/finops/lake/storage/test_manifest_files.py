"""The files of a manifest: those that PostgreSQL gives at its moment, read once, and the same for each question about it."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import Account
from finops.lake import queries
from finops.lake.models import LakeRollup, LakeSegment
from finops.lake.rollups import rollup_scheduler
from finops.lake.rollups.rollups import METER_COLUMNS, RESOURCE_COLUMNS, Level
from finops.lake.schema import Kind
from finops.lake.storage import manifest as manifests
from finops.lake.storage import segments
from finops.lake.storage.manifest import cost_manifest, manifest_files
from finops.lake.storage.storage import storage
from tests.cast import Cast
from tests.examples import examples
from tests.finops.lake.facts import EVER, FEBRUARY, JANUARY, billed_by, line, run_query, store

pytestmark = pytest.mark.django_db

LEVELS = (Level(RESOURCE_COLUMNS, share=10), Level(RESOURCE_COLUMNS | METER_COLUMNS, share=10))


def roll_up(account: Account) -> None:
    rollup_scheduler.roll_up_account(account, levels=LEVELS, least_rows=1)


def totals(account: Account, column: str = "service", **options: Any) -> dict[str, Decimal]:
    rows = run_query(
        account,
        lambda cost: cost.group_by(column).aggregate(total=cost.billed_cost.sum()),
        **options,
    )
    return {row[column]: row["total"] for row in rows}


many = [line(JANUARY, "0.01", resource_id=f"vm-{number}", service="EC2") for number in range(9)]


def test_questions_about_one_manifest_are_answered_over_the_same_files(cast: Cast) -> None:
    """A report's sections, of which one is asked after an import."""
    store(cast.account, [line(JANUARY, 1, service="EC2", region="eu")])
    before = cost_manifest(cast.account)
    assert totals(cast.account, manifest=before) == {"EC2": 1}

    store(cast.account, [line(JANUARY, 7, service="EC2", region="eu")])

    assert totals(cast.account, "region", manifest=before) == {"eu": 1}
    assert totals(cast.account, "region") == {"eu": 7}


def test_a_manifest_keeps_its_files_after_a_later_import(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2")])
    before = cost_manifest(cast.account)
    store(cast.account, [line(JANUARY, 7, service="EC2")])

    assert totals(cast.account, manifest=before) == {"EC2": 1}


def test_a_manifest_whose_files_are_gone_gives_the_lines_of_now(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2")])
    before = cost_manifest(cast.account)
    (old,) = LakeSegment.objects.unscoped().filter(account=cast.account)
    store(cast.account, [line(JANUARY, 7, service="EC2")])
    storage().delete(old.path)
    assert totals(cast.account, manifest=before) == {"EC2": 7}

    old.delete()
    assert totals(cast.account, "currency", manifest=before) == {"USD": 7}


def test_the_files_are_read_with_the_first_question_and_not_again(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1, service="EC2", region="eu")])
    store(cast.account, [line(FEBRUARY, 2, service="EC2", region="eu")], month=FEBRUARY)
    manifest = cost_manifest(cast.account)

    counts = []
    for column in ("service", "region", "currency"):
        with CaptureQueriesContext(connection) as statements:
            totals(cast.account, column, manifest=manifest)
        counts.append(len(statements))

    assert counts == [1, 0, 0]


def test_a_rollup_is_read_from_its_commit_on(cast: Cast) -> None:
    store(cast.account, many)
    assert totals(cast.account, allow_rollups=True) == {"EC2": Decimal("0.09")}
    roll_up(cast.account)
    (segment,) = LakeSegment.objects.unscoped().filter(account=cast.account)
    storage().delete(segment.path)

    assert totals(cast.account, "currency", allow_rollups=True) == {"USD": Decimal("0.09")}


def test_a_rollup_that_was_replaced_is_read_after_one_question(cast: Cast) -> None:
    """As `check_lake` does with a damaged one: the manifest is the same before and after."""
    store(cast.account, many)
    roll_up(cast.account)
    assert totals(cast.account, allow_rollups=True) == {"EC2": Decimal("0.09")}
    every = LakeRollup.objects.unscoped().filter(account=cast.account)
    for rollup in every:
        storage().delete(rollup.path)
    every.delete()
    LakeSegment.objects.unscoped().update(summarised_at=None)
    roll_up(cast.account)

    assert totals(cast.account, "currency", allow_rollups=True) == {"USD": Decimal("0.09")}

    (segment,) = LakeSegment.objects.unscoped().filter(account=cast.account)
    storage().delete(segment.path)
    assert totals(cast.account, "region", allow_rollups=True) == {None: Decimal("0.09")}


def test_an_account_with_very_many_columns_asks_for_each_question(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "MOST_COLUMNS", 3)
    store(cast.account, [line(JANUARY, 1, service="EC2")])
    manifest = cost_manifest(cast.account)

    assert manifest_files(cast.account, manifest, *EVER, ["service"]) is None
    assert totals(cast.account, manifest=manifest) == {"EC2": 1}


columns = st.lists(
    st.sampled_from(["service", "sku_id", "resource_id", "billed_cost", "tag:env", "tag:^env", "tag:none"]),
    unique=True,
)
days = st.tuples(st.dates(JANUARY, date(2026, 3, 1)), st.dates(JANUARY, date(2026, 3, 1)))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40), deadline=None
)
@given(group_columns=columns, days=days, allow_rollups=st.booleans(), rolled_up=st.booleans())
def test_cached_files_equal_those_of_postgresql(
    cast: Cast, group_columns: list[str], days: tuple[date, date], allow_rollups: bool, rolled_up: bool
) -> None:
    segments.retire_source(account=cast.account, kind=Kind.COST, source_id=1)
    store(cast.account, many)
    if rolled_up:
        roll_up(cast.account)
    store(cast.account, [line(FEBRUARY, 1, tags={"env": "a", "Env": "b"})], month=FEBRUARY)
    store(cast.other_account, many)

    files = manifest_files(
        cast.account, cost_manifest(cast.account), *days, group_columns, allow_rollups=allow_rollups
    )

    assert files == queries.segment_files(
        cast.account, Kind.COST, *days, group_columns, allow_rollups=allow_rollups
    )


def test_questions_of_two_accounts_read_their_own_files(cast: Cast) -> None:
    for account, cost in ((cast.account, 1), (cast.other_account, 2)):
        store(account, [line(JANUARY, cost, service="EC2")])
    manifest = cost_manifest(cast.other_account)

    assert run_query(cast.other_account, billed_by("service"), manifest=manifest)
    with pytest.raises(ValueError, match="another account"):
        run_query(cast.account, billed_by("service"), manifest=manifest)
    assert totals(cast.account) == {"EC2": 1}
