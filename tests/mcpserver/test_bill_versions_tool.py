"""compareBillVersions and simulateCost, called at the door."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import pytest

from accounts.keys import mint_mcp_key
from accounts.models import Account
from accounts.scoping import account_scope
from tests.cast import Cast
from tests.mcpserver.door import Door, mint
from tests.world.costs import add_source, cost, store_lines

MAY = date(2026, 5, 1)


@pytest.fixture
def restated(cast: Cast) -> Iterator[Account]:
    """May, whose storage was restated from 5 to 6."""
    with account_scope(cast.account):
        source = add_source(cast.account, [cost(MAY, 10, service="Compute"), cost(MAY, 5, service="Storage")])
        store_lines(cast.account, source, [cost(MAY, 10, service="Compute"), cost(MAY, 6, service="Storage")])
        yield cast.account


def test_what_an_import_changed_is_answered_in_one_call(cast: Cast, restated: Account) -> None:
    answer = Door(mint(cast)).ask("compareBillVersions")

    assert answer["month"] == "2026-05"
    assert [(each["service"], each["billed_after"]) for each in answer["lines"]] == [("Storage", 6)]
    assert answer["totals"][0]["billed_change"] == 1


def test_a_stranger_sees_no_version_of_it(cast: Cast, restated: Account) -> None:
    _row, key = mint_mcp_key(account=cast.other_account, actor=cast.other_actor, name="theirs", scope="read")

    assert Door(key).ask("compareBillVersions", month="2026-05")["lines"] == []


def test_growth_of_a_service_is_simulated_on_real_lines(cast: Cast, restated: Account) -> None:
    answer = Door(mint(cast)).ask(
        "simulateCost",
        start_date="2026-05-01",
        end_date="2026-05-31",
        growth=[{"percent": 50, "dimension": "service", "values": ["Storage"]}],
    )

    assert (answer["totals"][0]["baseline"], answer["totals"][0]["simulated"]) == (16, 19)
    assert "19.00 USD instead of 16.00 USD" in answer["summary"]
