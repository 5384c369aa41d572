"""The demo's cost tags, as whoever opens the demo sees them."""

from __future__ import annotations

from pathlib import Path

import pytest

from accounts.models import Account
from accounts.scoping import account_scope
from finops.allocation.cost_tags.cost_tag_query import CostTagQuery
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tags import list_cost_tags, preview, query_cost_tag
from finops.allocation.services.cost_tags import draft_of
from finops.costs.queries import query_spend
from finops.costs.spend_query import SpendQuery
from finops.lib import clock
from finops.lib.money import added
from tests.finops.demo.test_load_demo import TODAY, load, own_var

__all__ = ["own_var"]

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_rule_of_the_demo_earns_its_place_and_values_add_up(own_var: Path) -> None:
    load()
    account = Account.objects.get(slug="lumenly")
    with account_scope(account), clock.frozen(TODAY):
        assert {tag.key for tag in list_cost_tags(account)} >= {
            "environment",
            "customer",
            "cost-centre",
            "team",
        }
        whole = query_spend(account, SpendQuery(period="last_30_days"))
        for tag in CostTag.objects.all():
            found = query_cost_tag(account, CostTagQuery(cost_tag=tag.key))
            for total in whole.totals:
                parts = [value.amount for value in found.values if value.currency == total.currency]
                assert added(parts) == total.amount
            shown = preview(account, draft_of(tag))
            assert not [rule.name for rule in shown.rules if not rule.lines]
