from __future__ import annotations

from datetime import timedelta

import pytest

from accounts.models import Account
from finops.allocation.models import CostTag
from finops.allocation.rules import Copy, Rule, Test
from finops.allocation.services.cost_tags import create_cost_tag
from tests.cast import Cast
from tests.factories.costs import add_source, cost
from tests.finops.allocation.cost_tag_pages import DAY


@pytest.fixture
def costly(acme: Account) -> Account:
    """On ten days of February and March 10 USD and 0.50 EUR of production, 4 USD of `Dev`, 6 USD without a tag."""
    lines = [
        line
        for back in range(0, 40, 4)
        for line in (
            cost(DAY - timedelta(days=back), "10", service="EC2", tags={"env": "prod"}),
            cost(DAY - timedelta(days=back), "0.5", service="EC2", tags={"env": "PROD"}, currency="EUR"),
            cost(DAY - timedelta(days=back), "4", service="S3", tags={"Env": "Dev"}),
            cost(DAY - timedelta(days=back), "6", service="Tax"),
        )
    ]
    add_source(acme, lines)
    return acme


@pytest.fixture
def environment_tag(cast: Cast, costly: Account) -> CostTag:
    return create_cost_tag(
        account=costly,
        actor=cast.actor,
        key="environment",
        description="Where it runs",
        rules=[
            Rule(when=Test(dimension="tag:env", values=("prod",)), value="production"),
            Rule(copy=Copy(keys=("env", "Env"))),
        ],
    )
