"""What tests have done inside a live server's world."""

from __future__ import annotations

from django.conf import settings

from tests.cast import make_cast, signed_in
from tests.mcpserver.door import mint


def people() -> dict[str, str]:
    """A key of Acme, and the session of its owner's browser."""
    cast = make_cast()
    cookie = signed_in(cast.owner).cookies[settings.SESSION_COOKIE_NAME]
    return {"key": mint(cast), "session": cookie.value}
