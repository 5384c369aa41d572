"""Functions that run inside the server for tests of the command line: an account with cost, budgets, and a key of
each kind."""

from __future__ import annotations

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.connections.services.cost_keys import create_pushed_source
from finops.lib import clock
from ingestion.services import create_usage_source, generate_usage_key
from tests.factories.budgets import create_budget
from tests.factories.costs import add_source, cost
from tests.finops.connections.pushes import push_steps
from tests.isolation.marks import fill_with_marks


def with_keys() -> dict[str, str]:
    owner = User.objects.create_user("cli@example.com", "a long enough secret")
    account, actor = create_account(name="Command line", owner=owner, slug="cli"), Actor.of_user(owner)
    fill_with_marks(account)
    with account_scope(account):
        add_source(account, [cost(clock.today().replace(day=1), 5, currency="EUR")], name="Euro bill")
        create_budget(account, "Everything", 1_000)
        create_budget(account, "A year", 10_000, period="yearly")
    source = create_usage_source(account=account, actor=actor, name="Backend")
    return {
        "write": mint_mcp_key(account=account, actor=actor, name="CI write", scope="read_write")[1],
        "read": mint_mcp_key(account=account, actor=actor, name="CI")[1],
        "cost": create_pushed_source(account=account, actor=actor, name="Meter")[2],
        "usage": generate_usage_key(source=source, actor=actor)[1],
    }


def run_pushes() -> None:
    push_steps.run_pushes()
