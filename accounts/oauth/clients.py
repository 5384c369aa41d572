"""The identity of a client: the host of its metadata document or redirect URI, which can be checked, unlike its name.

The name that a client states is untrusted text and is shown with the host.
"""

from __future__ import annotations

import secrets
import unicodedata
from typing import Any
from urllib.parse import urlsplit

from accounts.models import OAuthApplication
from accounts.oauth.redirects import host_of, is_on_this_device


def new_client_id() -> str:
    """Return an ID for a client that an account creates. Registered clients have IDs of django-oauth-toolkit."""
    return f"finops-{secrets.token_hex(16)}"


def host_of_client(application: OAuthApplication, redirect_uri: str) -> str:
    """Return the host that vouches for the client; empty for a program on the person's own device.

    The host of a metadata document vouches for its content. Anyone can register a client, so there the host of the
    redirect URI counts.
    """
    if application.registration_source == OAuthApplication.RegistrationSource.CIMD:
        return urlsplit(application.client_id).hostname or ""
    # The host of a private-use scheme (cursor://host/…) proves as little as the client's name.
    return "" if is_on_this_device(redirect_uri) else host_of(redirect_uri)


def client_label(application: OAuthApplication) -> str:
    """Return a label for logs and lists: the client's own name, and the host of its metadata document if it has one."""
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
