"""Who a client is, as far as we can tell: where its document lies or where it is sent back to, not what it says.

What it calls itself is text of a stranger, shown beside its host.
"""

from __future__ import annotations

import secrets
import unicodedata
from typing import Any
from urllib.parse import urlsplit

from accounts.models import OAuthApplication
from accounts.oauth.redirects import host_of, is_on_this_device


def new_client_id() -> str:
    """The ID of a client that an account creates itself; those that register have IDs of django-oauth-toolkit."""
    return f"finops-{secrets.token_hex(16)}"


def host_of_client(application: OAuthApplication, redirect_uri: str) -> str:
    """The host that vouches for the client; empty for a program on the person's own device.

    A metadata document is its host's word. A registration is nobody's: there the host it is sent back to counts.
    """
    if application.registration_source == OAuthApplication.RegistrationSource.CIMD:
        return urlsplit(application.client_id).hostname or ""
    # What a scheme of an app's own (cursor://host/…) calls its host is no more proof than its name.
    return "" if is_on_this_device(redirect_uri) else host_of(redirect_uri)


def client_label(application: OAuthApplication) -> str:
    """For logs and lists: the name it gives itself, and the host of its document where it has one."""
    host = host_of_client(application, "")
    if not host:
        return application.name or "an unnamed client"
    return f"{application.name} ({host})" if application.name else host


MAX_LENGTH = 80
# Letters, marks, numbers, punctuation, symbols, plain spaces; no control or formatting characters, which could
# turn the direction of the text around it.
_PRINTABLE = {"L", "M", "N", "P", "S"}


def display_name(raw_name: Any) -> str:
    if not isinstance(raw_name, str):
        return ""
    letters = (letter if unicodedata.category(letter)[0] in _PRINTABLE else " " for letter in raw_name[:1000])
    return " ".join("".join(letters).split())[:MAX_LENGTH].strip()
