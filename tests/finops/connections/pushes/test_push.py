"""Pushing a billing month of cost: in one call or in parts, and how it takes the place of what the source had."""

from __future__ import annotations

from decimal import Decimal

import pytest

from finops.costs.models import CostImport
from tests.cast import Cast
from tests.finops.connections.pushes.push_steps import (
    MAY,
    MONTHS,
    CostDoor,
    csv_rows,
    open_door,
    row,
    run_pushes,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def door(cast: Cast) -> CostDoor:
    return open_door(cast)


def test_a_month_comes_in_one_call(door: CostDoor) -> None:
    answer = door.send("POST", f"{MONTHS}/{MAY}", {"rows": [row("1.5"), row("2.25")]})

    assert answer.status_code == 202
    assert answer.json()["status"] == "queued"
    assert [part["format"] for part in answer.json()["parts"]] == ["json"]
    run_pushes()
    assert door.billed() == {MAY: Decimal("3.75")}


def test_a_month_comes_in_parts_that_count_together(door: CostDoor) -> None:
    push = door.open()
    assert door.put(push, 2, csv_rows("10")).status_code == 200
    assert door.put(push, 1, {"rows": [row("0.5")]}).status_code == 200
    run_pushes()
    assert door.billed() == {}

    assert door.commit(push, 2).status_code == 202
    run_pushes()

    status = door.status(push)
    assert (status["status"], status["rows"], status["error"]) == ("done", 2, None)
    assert status["totals"] == [{"currency": "USD", "billed_cost": "10.5", "effective_cost": "10.5"}]
    assert door.billed() == {MAY: Decimal("10.5")}
    assert CostImport.objects.unscoped().get().actor_label.startswith("Cost key fcst_")
