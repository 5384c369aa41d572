"""The whole demo account as a file: an empty account that applies it is the same, and applying it again changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pytest_django import DjangoDbBlocker

from accounts.models import Account, User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.ai_spend.services import enter_price
from finops.alerts.models import AlertChannel
from finops.alerts.services import create_channel
from finops.configuration.kinds import KINDS
from finops.configuration.services import apply_configuration, export_configuration, plan_configuration
from finops.costs.models import CostSource
from finops.costs.services import create_cost_source
from finops.costs.services.saved_views import create_saved_view
from finops.costs.spend_query import SpendQuery
from finops.demo.loader import load
from finops.demo.people import SLUG
from finops.lib.errors import UserError
from tests.cast import ACTOR
from tests.factories.module_scope import module_account
from tests.mcpserver.prompts.conftest import DEMO_MONTHS, DEMO_NOW


@pytest.fixture(scope="module")
def demo(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Account]:
    with module_account(django_db_blocker, tmp_path_factory.mktemp("demo"), DEMO_NOW):
        load(lambda _line: None, months=DEMO_MONTHS)
        account = Account.objects.get(slug=SLUG)
        query = SpendQuery(group_by=["service"], period="last_30_days")
        create_saved_view(account=account, actor=ACTOR, name="Services", query=query)
        enter_price(
            account=account,
            actor=ACTOR,
            model="Claude Sonnet 4.5",
            token_type="input",
            price_per_million="2.40",
            currency="USD",
            valid_from=DEMO_NOW.date(),
        )
        yield account


@pytest.fixture
def empty(demo: Account, db: None) -> Account:
    """Without cost, usage and configuration; its sources and channels have the names of the demo's, for they hold credentials."""
    owner = User.objects.create_user("empty@example.com", "a long enough secret")
    account = create_account(name="Empty", owner=owner, slug="empty")
    with account_scope(demo):
        sources = list(CostSource.objects.values_list("name", flat=True))
        channels = list(AlertChannel.objects.values_list("name", flat=True))
    with account_scope(account):
        for name in sources:
            create_cost_source(account=account, actor=ACTOR, name=name)
        for name in channels:
            target = {"addresses": ["empty@example.com"]}
            create_channel(account=account, actor=ACTOR, name=name, kind="email", target=target)
    return account


def test_the_demo_account_is_made_again_of_its_file(demo: Account, empty: Account) -> None:
    text = export_configuration(demo)

    changes = apply_configuration(account=empty, actor=ACTOR, text=text)

    assert {each.kind for each in changes} == {kind.name for kind in KINDS}
    assert {each.action for each in changes} == {"create"}
    assert export_configuration(empty) == text
    assert plan_configuration(empty, text, delete=True) == []
    assert plan_configuration(demo, text, delete=True) == []


def test_rows_that_a_file_empties_are_deleted_and_the_keys_stay(demo: Account, empty: Account) -> None:
    apply_configuration(account=empty, actor=ACTOR, text=export_configuration(demo))
    stay = ("cost_tags", "keys")
    text = "version: 1\n" + "".join(f"{kind.name}: []\n" for kind in KINDS if kind.name not in stay)

    apply_configuration(account=empty, actor=ACTOR, text=text, delete=True)

    with account_scope(empty):
        assert [kind.name for kind in KINDS if kind.rows()] == list(stay)
    with pytest.raises(UserError, match=r"^keys: The customer key can be replaced, not deleted"):
        plan_configuration(empty, "version: 1\nkeys: []\n", delete=True)
