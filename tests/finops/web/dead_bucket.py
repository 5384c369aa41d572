"""Functions that the test of an unavailable bucket runs inside its server."""

from __future__ import annotations

import shutil
from datetime import date

from django.conf import settings

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.scoping import account_scope
from accounts.services import create_account
from ingestion.services import create_usage_source, generate_usage_key
from tests.factories.costs import add_source, cost


def account() -> dict[str, str]:
    """Keys of a new account with cost in the bucket, and nothing of it on this machine."""
    owner = User.objects.create_user("bucket@example.com")
    new_account = create_account(name="Bucket", owner=owner, slug="bucket")
    actor = Actor.of_user(owner)
    _key, mcp_key = mint_mcp_key(account=new_account, actor=actor, name="bucket")
    source = create_usage_source(account=new_account, actor=actor, name="Backend")
    usage_key = generate_usage_key(source=source, actor=actor)[1]
    with account_scope(new_account):
        add_source(
            new_account, [cost(date(2026, 1, day), 10, service=f"service {day}") for day in range(1, 29)]
        )
    shutil.rmtree(settings.VAR_DIR / "cache", ignore_errors=True)
    return {"mcp": mcp_key, "usage": usage_key}
