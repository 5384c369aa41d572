"""Functions that the chaos run calls inside the console: create tenants with keys and sessions, and read what is
stored."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import Account, User
from accounts.scoping import account_scope
from accounts.services import create_account
from finops.costs.models import CostImport
from finops.lake.usage import flush
from ingestion.services import create_usage_source, generate_usage_key
from tests.cast import signed_in
from tests.factories.imports import total
from tests.finops.lake.events import quantity_by


def tenants(count: int) -> list[dict[str, str]]:
    return [_tenant(number) for number in range(count)]


def _tenant(number: int) -> dict[str, str]:
    owner = User.objects.create_user(f"chaos-{number}@example.com")
    account = create_account(name=f"Chaos {number}", owner=owner, slug=f"chaos-{number}")
    actor = Actor.of_user(owner)
    _key, mcp_key = mint_mcp_key(account=account, actor=actor, name="chaos")
    source = create_usage_source(account=account, actor=actor, name="Backend")
    usage_key = generate_usage_key(source=source, actor=actor)[1]
    session = signed_in(owner).cookies[settings.SESSION_COOKIE_NAME].value
    return {"slug": account.slug, "mcp": mcp_key, "usage": usage_key, "session": session}


def book(slug: str) -> dict[str, Any]:
    """Return the tenant's usage in lake and inbox, its cost, and the results of its imports."""
    account = Account.objects.get(slug=slug)
    with account_scope(account):
        usage = quantity_by(account, "metric").get("requests", 0)
        imports = [
            {"source": each.source.name, "status": each.status, "error": each.error[:200]}
            for each in CostImport.objects.select_related("source").order_by("pk")
        ]
        return {
            "usage": str(usage),
            "waiting": flush.count_pending(account),
            "cost": str(total(account) or 0),
            "imports": imports,
        }
