"""Functions that run inside the server while a client of events listens."""

from __future__ import annotations

from datetime import timedelta

from accounts.audit import Actor
from accounts.keys import mint_mcp_key, revoke_mcp_key
from accounts.models import Account, MCPKey
from accounts.scoping import account_scope
from finops.alerts import services
from finops.connections.models import CostConnection
from finops.costs.services import create_cost_source
from finops.lib import clock

ACTOR = Actor.command("test")


def read_key() -> str:
    _key, plaintext = mint_mcp_key(account=_acme(), actor=ACTOR, name="AI SDK")
    return plaintext


def begin() -> None:
    """The first evaluation, whose state is the baseline."""
    with account_scope(_acme()):
        services.evaluate(_acme())


def fail_source() -> None:
    """A source whose syncs fail, which is evaluated and sent as workers do."""
    account = _acme()
    with account_scope(account):
        source = create_cost_source(account=account, name="Linked", actor=ACTOR)
        CostConnection.objects.create(
            account=account,
            source=source,
            connector="s3",
            failures=2,
            failing_since=clock.now() - timedelta(hours=2),
        )
        services.evaluate(account)
    _send()


def revoke_key() -> None:
    with account_scope(_acme()):
        revoke_mcp_key(key=MCPKey.objects.get(name="AI SDK"), actor=ACTOR)
    services.end_dead()
    _send()


def _send() -> None:
    for _account_id, delivery_id in services.send_due():
        services.send_delivery(account=_acme(), delivery_id=delivery_id)


def _acme() -> Account:
    return Account.objects.get(slug="acme")
