"""The bearer token of a request (RFC 6750, 2.1), for all endpoints that programs call with a key."""

from __future__ import annotations

import re
from typing import Final

from django.http import HttpRequest

_BEARER: Final = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] +([A-Za-z0-9._~+/-]{1,2048}=*)")
_KINDS: Final = {
    "fcst_": "the key of a cost source",
    "fevt_": "the key of an event source",
    "fmcp_": "an MCP key",
    "foat_": "an access token of the MCP server",
    "fscm_": "a SCIM token",
    "fuse_": "the key of a usage source",
}
_IN_ADDRESS: Final = re.compile(r"(?:^|&)(?:[a-z_-]*key|[a-z_-]*token|bearer|authorization)=", re.IGNORECASE)


class BearerError(Exception):
    """The request has no bearer token; `is_invalid`: its header is none. The message says what to send."""

    def __init__(self, message: str, *, is_invalid: bool = False) -> None:
        super().__init__(message)
        self.is_invalid = is_invalid


def bearer_token(request: HttpRequest, form: str) -> str:
    """Return the token. `form`: a sentence with the header to send. Raises BearerError."""
    header = request.META.get("HTTP_AUTHORIZATION", "").strip()
    if bearer := _BEARER.fullmatch(header):
        return bearer[1]
    if header:
        raise BearerError(f"The header Authorization has another form. {form}", is_invalid=True)
    if _IN_ADDRESS.search(request.META.get("QUERY_STRING", "")):
        raise BearerError(f"A key in the address is not read, and logs may have it: replace it. {form}")
    raise BearerError(form)


def refusal_of(token: str, own_prefixes: tuple[str, ...], form: str, unknown: str) -> str:
    """Return what to say of a token that is no credential here: `unknown`, unless it is a key for another endpoint."""
    kind = "" if token.startswith(own_prefixes) else _KINDS.get(token[:5], "")
    return f"This is {kind}. {form}" if kind else unknown
