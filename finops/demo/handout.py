"""A demo visitor's data in `var/demo.json`: URLs, sign-in, keys. Readable only by the user who runs the console."""

from __future__ import annotations

import hmac
import json
from pathlib import Path

from django.conf import settings

from accounts import keys
from accounts.audit import Actor
from accounts.models import Account, MCPKey
from accounts.scoping import account_scope
from finops.demo.people import EMAIL, People
from finops.demo.usage import usage_source
from finops.lib.secrets import write_private
from ingestion.models import UsageKey
from ingestion.services import generate_usage_key, regenerate_usage_key

# The field of demo.json, the key's name in the list of keys, its scope.
_KEYS = (
    ("mcp_key_read", "Demo assistant", MCPKey.Scope.READ),
    ("mcp_key_read_write", "Demo assistant with write", MCPKey.Scope.READ_WRITE),
)


def path() -> Path:
    return Path(settings.VAR_DIR) / "demo.json"


def stored_handout() -> dict[str, str]:
    """Return the data that the last run wrote; empty when nothing is readable."""
    try:
        content = json.loads(path().read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return {str(name): str(value) for name, value in content.items()} if isinstance(content, dict) else {}


def write(people: People, actor: Actor) -> dict[str, str]:
    """Write the data. Keys and password of the last run stay while they work; others are created again."""
    before = stored_handout()
    handout = {
        "url": settings.PUBLIC_URL,
        "mcp_url": f"{settings.PUBLIC_URL}/api/mcp",
        "usage_url": f"{settings.PUBLIC_URL}/api/usage/events",
        "email": EMAIL,
        "password": people.password or before.get("password", ""),
        "account": people.account.slug,
    }
    with account_scope(people.account):
        for field, name, scope in _KEYS:
            stored_key = before.get(field, "")
            handout[field] = (
                stored_key if _is_active(stored_key, scope) else _mint(people.account, actor, name, scope)
            )
        handout["usage_key"] = _usage_key(people.account, actor, before.get("usage_key", ""))
    if handout != before or path().stat().st_mode & 0o777 != 0o600:
        write_private(path(), json.dumps(handout, indent=2))
    return handout


def _is_active(plaintext: str, scope: MCPKey.Scope) -> bool:
    """Whether it is a live key of the account in scope. Does not record a use."""
    lookup = keys.lookup_of(plaintext, keys.PREFIX)
    key = MCPKey.objects.filter(lookup=lookup, scope=scope).first() if lookup else None
    return (
        key is not None
        and key.state == "active"
        and hmac.compare_digest(bytes(key.digest), keys.digest_of(plaintext))
    )


def _mint(account: Account, actor: Actor, name: str, scope: MCPKey.Scope) -> str:
    for old in MCPKey.objects.filter(name=name, scope=scope, revoked_at=None):
        keys.revoke_mcp_key(key=old, actor=actor)
    return keys.mint_mcp_key(account=account, actor=actor, name=name, scope=scope)[1]


def _usage_key(account: Account, actor: Actor, stored_key: str) -> str:
    """Return the key of the demo's usage source: the stored one while it is live, else a new one that replaces it."""
    source = usage_source(account, actor)
    living = UsageKey.objects.filter(source=source, revoked_at=None).first()
    if living is None:
        return generate_usage_key(source=source, actor=actor)[1]
    if hmac.compare_digest(bytes(living.digest), keys.digest_of(stored_key)):
        return stored_key
    return regenerate_usage_key(source=source, actor=actor)[1]
