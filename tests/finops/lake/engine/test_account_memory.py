"""An operator sets the lake memory of one account: its queries run in a DuckDB of its own with so much, others as before."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import ibis
import pytest
from django.conf import settings as server
from pytest_django import Settings

from accounts.limits import LAKE_MEMORY, lake_memory_of
from accounts.models import Account
from accounts.services.limits import change_limits
from finops.lake.engine import duckdb as lake_duckdb
from finops.lake.engine import engine
from finops.lib import child_process, memory
from finops.lib.errors import UserError
from tests.cast import ACTOR, Cast
from tests.finops.lake.facts import JANUARY, line, run_query, store, total

pytestmark = pytest.mark.django_db


def _current_setting(_name: Any) -> None: ...


duckdb_setting: Any = ibis.udf.scalar.builtin(
    _current_setting, name="current_setting", signature=(("string",), "string")
)
"""A setting of the DuckDB that runs the query."""


@pytest.fixture(autouse=True)
def lake(settings: Settings, tmp_path: Path) -> None:
    settings.LAKE_URL = str(tmp_path / "lake")
    settings.LAKE_MEMORY_BYTES = 512 * memory.MB


def limit(account: Account, megabytes: int | None) -> Account:
    change_limits(account=account, actor=ACTOR, limits={LAKE_MEMORY: megabytes})
    return Account.objects.get(pk=account.pk)


def memory_of_a_query(account: Account) -> str:
    [row] = run_query(
        account, lambda cost: cost.aggregate(limit=duckdb_setting("memory_limit"), n=cost.count())
    )
    return str(row["limit"])


def memory_of_a_stream(account: Account | None) -> str:
    def statement(_files: Any) -> str:
        return "SELECT current_setting('memory_limit') AS limit"

    with engine.read_batches([], statement, account=account) as batches:
        return str(batches.read_all()["limit"][0].as_py())


def pairs(cost: Any) -> Any:
    every = cost.cross_join(cost.view())
    groups = every.group_by(key=every.resource_id, other=every.resource_id_right).agg(n=every.count())
    return groups.aggregate(groups=groups.count(), most=groups.n.max())


def test_queries_and_rewrites_of_the_account_run_with_its_memory_and_others_do_not(cast: Cast) -> None:
    for account in (cast.account, cast.other_account):
        store(account, [line(JANUARY, 1)])
    limited = limit(cast.account, 96)

    assert memory_of_a_query(limited) == memory_of_a_stream(limited) == "96.0 MiB"
    assert memory_of_a_query(cast.other_account) == memory_of_a_stream(cast.other_account) == "512.0 MiB"
    assert memory_of_a_stream(None) == "512.0 MiB"


def test_a_new_limit_counts_from_the_next_query_and_the_former_instance_is_closed(cast: Cast) -> None:
    store(cast.account, [line(JANUARY, 1)])
    megabytes: list[int | None] = [96, 128, None]
    limits = [memory_of_a_stream(limit(cast.account, each)) for each in megabytes]

    assert limits == ["96.0 MiB", "128.0 MiB", "512.0 MiB"]
    instances = [each for each in lake_duckdb._account_instances if each[1] == cast.account.pk]
    assert [each[2] // memory.MB for each in instances] == [128]


def test_a_query_that_is_too_large_for_the_account_says_its_memory_and_is_answered_elsewhere(
    cast: Cast,
) -> None:
    rows = [line(JANUARY, number, resource_id=f"{number}" * 30) for number in range(1_500)]
    for account in (cast.account, cast.other_account):
        store(account, rows)
    limited = limit(cast.account, 64)

    with pytest.raises(engine.LakeTooLarge, match="memory limit of 64 MB"):
        run_query(limited, pairs)
    assert run_query(cast.other_account, pairs) == [{"groups": 1_500**2, "most": 1}]
    assert total(limited) == total(cast.other_account)


def test_instances_share_the_turns_of_the_process_and_only_the_last_used_stay(cast: Cast) -> None:
    shared = lake_duckdb.instance()
    accounts = [limit(Account.objects.create(name=f"A{n}", slug=f"a{n}"), 64 + n) for n in range(6)]
    every = [lake_duckdb.instance(account) for account in accounts]

    assert all(each.slots is shared.slots for each in every)
    assert lake_duckdb.instance(accounts[-1]) is every[-1]
    assert len(lake_duckdb._account_instances) == lake_duckdb.ACCOUNT_INSTANCES
    assert every[0].execute("SELECT 41 + 1 AS n", time.monotonic() + 10)["n"][0].as_py() == 42


@pytest.mark.parametrize("value", [63, 0, 10**9])
def test_more_memory_than_the_machine_has_is_refused_with_its_bounds(cast: Cast, value: int) -> None:
    most = memory.lake_memory_ceiling() // memory.MB
    with pytest.raises(UserError, match=f"Lake memory, MB: {value:,} is not between 64 and {most:,}"):
        limit(cast.account, value)


def test_a_stored_limit_that_this_machine_lacks_leaves_the_default(cast: Cast) -> None:
    values: list[Any] = [10**9, 1, True, "96", None]
    for value in values:
        cast.account.limits = {LAKE_MEMORY: value}
        assert lake_memory_of(cast.account) is None, value
        assert memory_of_a_stream(cast.account) == "512.0 MiB"


def write_memory(path: str, account_id: int) -> None:
    """Write, in a child process, the account's lake memory and the process's."""
    texts = []
    for megabytes in (96, 400):
        account = Account(pk=account_id, limits={LAKE_MEMORY: megabytes})
        texts.append(memory_of_a_stream(account))
    Path(path).write_text(f"{texts} {server.LAKE_MEMORY_BYTES // memory.MB}")


def test_the_process_of_an_import_takes_a_smaller_limit_and_never_more_than_its_part(
    cast: Cast, tmp_path: Path
) -> None:
    report = tmp_path / "seen"
    child_process.run(
        f"{__name__}.write_memory", str(report), cast.account.pk, name="memory", memory=1_024 * memory.MB
    )

    assert report.read_text() == "['96.0 MiB', '256.0 MiB'] 256"
