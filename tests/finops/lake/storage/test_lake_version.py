"""The version of a file, and the handling of later versions."""

from __future__ import annotations

import pytest

from finops.lake.engine import engine
from finops.lake.models import LakeSegment
from finops.lake.storage import lake_version
from finops.lake.storage.lake_version import OtherVersion, refuse_other_versions
from tests.cast import Cast
from tests.finops.lake.facts import JANUARY, line, store, total


def test_names_of_files_say_their_version() -> None:
    assert lake_version.file_ending() == ".parquet"
    assert lake_version.is_readable("1/cost/2026-01/7-ab.parquet")
    assert lake_version.is_readable("1/cost/2026-01/7-ab-s.parquet")
    assert not lake_version.is_readable("1/cost/2026-01/7-ab.v2.parquet")
    assert lake_version.unreadable(["a.parquet", "b-s.v3.parquet"]) == ["b-s.v3.parquet"]


@pytest.mark.django_db
def test_a_file_of_a_later_version_is_refused_and_never_left_out(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    refuse_other_versions()
    row = LakeSegment.objects.unscoped().get(account=cast.account)
    LakeSegment.objects.unscoped().update(path=row.path.replace(".parquet", ".v2.parquet"))

    with pytest.raises(
        engine.LakeUnavailable, match="A newer version of the console wrote some of this data"
    ):
        total(cast.account)
    with pytest.raises(OtherVersion, match=r"version 2; this one reads 1"):
        refuse_other_versions()


@pytest.mark.django_db
def test_a_version_that_writes_other_files_waits_for_the_older_programs(
    cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """This session is one of them."""
    monkeypatch.setattr(lake_version, "LAKE_VERSION", 2)
    with pytest.raises(
        OtherVersion, match="An older version of the console still runs on this database, from"
    ):
        refuse_other_versions()
    store(cast.account, [line(JANUARY, 1)])
    assert LakeSegment.objects.unscoped().get(account=cast.account).path.endswith(".v2.parquet")
    assert total(cast.account) == 1
