"""Rules on the redirect URIs that a client may use."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import SplitResult, urlsplit, urlunsplit

from django.conf import settings

from accounts.oauth.provider import PRIVATE_SCHEMES

MAX_LENGTH = 500
LOOPBACK = ("localhost", "127.0.0.1", "::1")
# Characters that no URI contains (RFC 3986).
ODD = re.compile(r'[^!-~]|[\\"<>^`{|}]')
# Browsers read other spellings as another host (a%2eb, 127.1), or they break the content security policy (a;b).
_NAME = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")


class UnsafeRedirectUri(ValueError):
    """A redirect URI that is not safe for anybody; the message gives the reason."""


class UnknownScheme(UnsafeRedirectUri):
    """An unknown private-use scheme: safe but not supported. A registration ignores such URIs."""


def check(uri: str) -> None:
    """Raise UnsafeRedirectUri unless the URI has https, http on loopback, or the scheme of a program: a known one or a
    reversed domain name (RFC 8252, 7.1)."""
    if len(uri) > MAX_LENGTH:
        raise UnsafeRedirectUri(f"a redirect URI must have at most {MAX_LENGTH} characters")
    if ODD.search(uri):
        raise UnsafeRedirectUri(
            "a redirect URI must not have spaces, control characters or unescaped characters"
        )
    parts = _split(uri)
    if "#" in uri:
        raise UnsafeRedirectUri("a redirect URI must not have a fragment (RFC 6749 3.1.2)")
    if "@" in parts.netloc:
        raise UnsafeRedirectUri("a redirect URI must not have a user name")
    _check_scheme(parts)


def _split(uri: str) -> SplitResult:
    try:
        parts = urlsplit(uri)
        port = parts.port  # raises ValueError for an invalid port
    except ValueError as error:
        raise UnsafeRedirectUri(f"{uri[:80]!r} is not a URI") from error
    if port == 0:
        raise UnsafeRedirectUri("a redirect URI must not have port 0")
    return parts


def _check_scheme(parts: SplitResult) -> None:
    scheme = parts.scheme
    if scheme in {"https", "http"}:
        if not is_host(parts.hostname or ""):
            raise UnsafeRedirectUri("a redirect URI needs a host")
        if scheme == "http" and not is_loopback(parts.geturl()):
            raise UnsafeRedirectUri("http is allowed only for localhost, 127.0.0.1 and [::1]; use https")
    elif scheme in {"javascript", "data", "file", "vbscript", "blob", "about", "ftp", "ws", "wss", ""}:
        raise UnsafeRedirectUri(f"the scheme {scheme!r} is not supported")
    elif scheme not in {*PRIVATE_SCHEMES, *settings.OAUTH_REDIRECT_SCHEMES} and not is_reversed_domain(
        scheme
    ):
        raise UnknownScheme(
            f"the scheme {scheme!r} is not supported; use a reversed domain name such as com.example.app"
        )


def is_reversed_domain(scheme: str) -> bool:
    return "." in scheme.strip(".")


def is_host(host: str) -> bool:
    """Return whether the text is a host's ASCII name or IP address in its usual spelling: lower case, an IPv6 address
    without brackets."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return bool(_NAME.fullmatch(host)) and not _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2])
    return "%" not in host  # a zone ID is valid on one machine only


def is_on_this_device(uri: str) -> bool:
    """Return whether a redirect there reaches a program on the person's own device, for which no host vouches."""
    parts = urlsplit(uri)
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme != "https" or host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    address = getattr(address, "ipv4_mapped", None) or address
    return address.is_loopback or address.is_unspecified


def is_loopback(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme == "http" and parts.hostname in LOOPBACK


def without_loopback_port(uri: str) -> str:
    """Return the URI for a comparison: without the port of a loopback address, which differs each time (RFC 8252,
    7.3)."""
    if not is_loopback(uri):
        return uri
    parts = urlsplit(uri)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    return urlunsplit(parts._replace(netloc=str(host)))


def origin_for_csp(uri: str) -> str:
    """Return the CSP source that lets Chromium follow the consent form's redirect."""
    parts = urlsplit(uri)
    if parts.scheme not in {"https", "http"}:
        return f"{parts.scheme}:"
    if parts.hostname == "::1":
        return "http:"  # a policy cannot name an IPv6 address
    return f"{parts.scheme}://{parts.netloc}"


def host_of(uri: str) -> str:
    """Return the host; empty for an app's private scheme, where the app chooses the host freely."""
    parts = urlsplit(uri)
    return (parts.hostname or "") if parts.scheme in {"https", "http"} else ""
