"""Settings of django-oauth-toolkit for finops.settings. Plain values only, because settings are read before models
can be imported."""

from __future__ import annotations

from typing import Any

READ_SCOPE, WRITE_SCOPE = "mcp:read", "mcp:write"
# Clients that read this scope in our metadata request it. It grants nothing, since every connection can be refreshed.
OFFLINE_SCOPE = "offline_access"
SCOPES = {READ_SCOPE: "Read cost data", WRITE_SCOPE: "Create budgets, alerts and dashboards"}

CODE_SECONDS = 300
ACCESS_TOKEN_SECONDS = 3_600
REFRESH_TOKEN_IDLE_SECONDS = 30 * 86_400
REPLAY_SECONDS = 30

# Private-use schemes of desktop programs. Another one must be a reversed domain name (RFC 8252, 7.1), or is removed from a
# registration.
PRIVATE_SCHEMES = (
    "cursor",
    "goose",
    "kiro",
    "lmstudio",
    "vscode",
    "vscode-insiders",
    "warp",
    "windsurf",
    "zed",
)

_RFC9700 = (
    "IMPLICIT_GRANT",
    "PASSWORD_GRANT",
    "PKCE_METHOD",
    "ACCESS_TOKEN_TRANSPORT",
    "AUTHZ_RESPONSE_ISS",
    "TOKEN_STORAGE",
    "REFRESH_TOKEN",
    "REDIRECT_URI_MATCHING",
    "PKCE_REQUIRED",
)


def provider_settings(issuer: str) -> dict[str, Any]:
    """Return OAUTH2_PROVIDER for the authorization server at `issuer`, an origin without a trailing slash."""
    return {
        "OAUTH2_SERVER_CLASS": "accounts.oauth.server.AuthorizationServer",
        "OAUTH2_VALIDATOR_CLASS": "accounts.oauth.validators.Validator",
        "ACCESS_TOKEN_GENERATOR": "accounts.oauth.tokens.new_access_token",
        "REFRESH_TOKEN_GENERATOR": "accounts.oauth.tokens.new_refresh_token",
        "CLIENT_SECRET_HASHER": "finops_random_secret",
        "SCOPES": {**SCOPES, OFFLINE_SCOPE: "Stay connected"},
        "DEFAULT_SCOPES": [READ_SCOPE, WRITE_SCOPE],
        "AUTHORIZATION_CODE_EXPIRE_SECONDS": CODE_SECONDS,
        "ACCESS_TOKEN_EXPIRE_SECONDS": ACCESS_TOKEN_SECONDS,
        "REFRESH_TOKEN_EXPIRE_SECONDS": REFRESH_TOKEN_IDLE_SECONDS,
        "REFRESH_TOKEN_REUSE_PROTECTION": True,
        "OIDC_ISS_ENDPOINT": issuer,
        "PKCE_REQUIRED": True,
        "ALLOW_LOCALHOST_LOOPBACK": True,
        # http is allowed for loopback only: OAuthApplication.clean checks it.
        "ALLOWED_REDIRECT_URI_SCHEMES": ["https", "http", *PRIVATE_SCHEMES],
        "CIMD_ENABLED": True,
        "CIMD_METADATA_FETCHER": "accounts.oauth.cimd.DocumentFetcher",
        **{f"COMPLIANT_BCP_RFC9700_{gate}": True for gate in _RFC9700},
    }
