"""Descriptions of OAuth errors: what to send instead."""

from __future__ import annotations

from typing import Final

DESCRIPTIONS: Final = {
    "invalid_client": (
        "The client is unknown, or its secret is wrong or missing. Register it again at /oauth/register, "
        "or send the client_id and client_secret of a service account."
    ),
    "invalid_grant": (
        "The code or refresh token is unknown, used, expired or of another client. Ask the person to sign in again."
    ),
    "invalid_request": "A parameter is missing, invalid or given twice. See /.well-known/oauth-authorization-server.",
    "unauthorized_client": "This client may not use this grant_type or response_type. Use authorization_code with response_type=code.",
    "unsupported_grant_type": "Send grant_type=authorization_code, refresh_token or client_credentials.",
    "unsupported_response_type": "Send response_type=code.",
    "unsupported_token_type": "Send an access token or a refresh token.",
}
"""By error code, for errors that oauthlib does not describe."""

PKCE: Final = "Send code_challenge with code_challenge_method=S256."
REWORDED: Final = {"Code challenge required.": PKCE, "Transform algorithm not supported.": PKCE}
"""By description of oauthlib, for those that do not say what to send."""


def plain(text: str) -> str:
    """Return the text in the characters of an `error_description` (RFC 6749, 5.2): ASCII without quotation mark and
    backslash."""
    return "".join(letter if " " <= letter <= "~" and letter not in '"\\' else "?" for letter in text)
