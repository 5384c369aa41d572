"""Sums of an account's cost in the lake, by the groups of `bills.sums`."""

from __future__ import annotations

import ibis

from accounts.models import Account
from finops.lake.engine import engine
from finops.lake.schema import Kind
from tests.factories.imports import FAR_AHEAD, LONG_AGO
from tests.finops.connections.connectors.bills import SumsByGroup


def sums_in_lake(account: Account) -> SumsByGroup:
    names = ("service", "account_id", "billing_period", "currency")

    def build(cost: ibis.Table) -> ibis.Table:
        amounts = {"billed": cost.billed_cost.sum(), "effective": cost.effective_cost.sum()}
        return cost.group_by([cost[name] for name in names]).aggregate(**amounts)

    rows = engine.run(account, Kind.COST, LONG_AGO, FAR_AHEAD, build).to_pylist()
    return {
        tuple(f"{row[name]:%Y-%m}" if name == "billing_period" else row[name] or "" for name in names): (
            row["billed"],
            row["effective"],
        )
        for row in rows
    }
