"""The issuer, the protected resource, and the URLs of their metadata documents."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings

RESOURCE_PATH = "/api/mcp"
_DEFAULT_PORTS = {"https": 443, "http": 80}


def issuer() -> str:
    return settings.PUBLIC_URL


def resource() -> str:
    """Return the identifier that clients send as `resource` and that tokens are issued for: the URL of the MCP
    server."""
    return canonical(f"{settings.PUBLIC_URL}{RESOURCE_PATH}") or ""


def canonical(uri: str) -> str | None:
    """Return the URI in its normal form for a comparison (RFC 8707; RFC 3986, 6.2.3), without its query; None if it
    names no resource."""
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError:
        return None
    if not parts.hostname or "@" in parts.netloc or "#" in uri:
        return None
    scheme, host = parts.scheme.lower(), parts.hostname.lower()
    bracketed_host = f"[{host}]" if ":" in host else host
    own_port = "" if port in (None, _DEFAULT_PORTS.get(scheme)) else f":{port}"
    return f"{scheme}://{bracketed_host}{own_port}{parts.path.rstrip('/')}"


def is_ours(uri: str) -> bool:
    return canonical(uri) == resource()
