"""Functions that run inside a live server, which other tests use too."""

from __future__ import annotations

from django.conf import settings

from accounts.audit import Actor
from accounts.keys import mint_mcp_key
from accounts.models import User
from accounts.services import create_account
from tests.cast import signed_in


def account() -> dict[str, str]:
    """A key of a new account, Watched, and the session of its owner's browser."""
    owner = User.objects.create_user("watcher@example.com")
    new_account = create_account(name="Watched", owner=owner, slug="watched")
    _key, plaintext = mint_mcp_key(account=new_account, actor=Actor.of_user(owner), name="watched")
    return {"key": plaintext, "session": signed_in(owner).cookies[settings.SESSION_COOKIE_NAME].value}
