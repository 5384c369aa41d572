"""Client ID metadata documents: a client whose ID is the https URL of a document that describes the client.

Documents are fetched only at the authorization endpoint and only for a person who is signed in.
django-oauth-toolkit's fetcher prevents SSRF: https only, every resolved address public, the connection pinned to the
checked address (so DNS cannot rebind), no redirects, 16 KB, a back-off after failures, ten at once. This module adds
a deadline for slow servers and slow DNS, accepts documents with more metadata than we use, and limits fetches per
caller.
"""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from oauth2_provider.cimd import (
    CIMDError,
    SafeMetadataFetcher,
    is_cimd_client_id,
    resolve_cimd_application,
)
from oauth2_provider.models import redirect_to_uri_allowed
from oauth2_provider.settings import oauth2_settings
from oauthlib.common import Request

from accounts.models import OAuthApplication
from accounts.oauth import limits, redirects
from accounts.oauth.clients import display_name
from finops.lib import clock

MAX_REDIRECT_URIS = 20
# Fetches that run: those with a waiting caller and those past their deadline, which end when the host closes.
_UNDER_WAY = threading.BoundedSemaphore(10)
COPY_IS_FRESH_FOR = timedelta(days=1)
_GRANT_TYPES = ("authorization_code", "refresh_token")


def resolve(client_id: str, existing: OAuthApplication | None, request: Request) -> OAuthApplication | None:
    """Return the client as its document describes it now, else the stored client, else None. May fetch the document:
    up to 5 s."""
    source = OAuthApplication.RegistrationSource.CIMD
    if not is_cimd_client_id(client_id) or (existing is not None and existing.registration_source != source):
        return existing
    if not _is_plain(client_id):
        return None
    redirect_uri = str(request.redirect_uri or "")
    if existing is not None and _is_fresh(existing) and _allows(existing.redirect_uris.split(), redirect_uri):
        return existing
    copy = copy_of(client_id)
    if copy is not None and _allows(copy["redirect_uris"], redirect_uri):
        return _store_copy(copy)
    if limits.seconds_to_wait_for_document(request.headers):
        return existing
    return resolve_cimd_application(client_id, request) or existing


def _is_plain(client_id: str) -> bool:
    """Return whether a host has no letters that imitate others (clàude.ai): the consent page shows the host, and the
    person trusts it."""
    try:
        return not redirects.ODD.search(client_id) and redirects.is_host(urlsplit(client_id).hostname or "")
    except ValueError:
        return False


def _is_fresh(application: OAuthApplication) -> bool:
    return application.cimd_expires_at is not None and application.cimd_expires_at > clock.now()


def _allows(redirect_uris: list[str], redirect_uri: str) -> bool:
    """Return whether the client may use the redirect URI. A request without one means the client's only one."""
    try:
        return not redirect_uri or bool(redirect_to_uri_allowed(redirect_uri, redirect_uris))
    except ValueError:
        return False


def _store_copy(copy: dict[str, Any]) -> OAuthApplication:
    application: OAuthApplication = OAuthApplication.objects.update_or_create(
        client_id=copy["client_id"],
        defaults={
            "name": copy["client_name"],
            "redirect_uris": " ".join(copy["redirect_uris"]),
            "client_type": OAuthApplication.CLIENT_PUBLIC,
            "authorization_grant_type": OAuthApplication.GRANT_AUTHORIZATION_CODE,
            "registration_source": OAuthApplication.RegistrationSource.CIMD,
            "cimd_expires_at": clock.now() + COPY_IS_FRESH_FOR,
        },
    )[0]
    return application


class DocumentFetcher(SafeMetadataFetcher):
    """A fetch of one document. Raises CIMDError.

    The fetch runs in a thread of its own; the caller stops waiting at the deadline. No time-out of the library ends a
    slow DNS query or headers that arrive byte by byte, and eight such hosts would block every thread of the server.
    """

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        seconds = oauth2_settings.CIMD_FETCH_TIMEOUT_SECONDS
        self._deadline = time.monotonic() + seconds
        if not _UNDER_WAY.acquire(blocking=False):
            raise CIMDError("too many client_id documents are being fetched")
        future: Future[tuple[dict[str, Any], int]] = Future()
        threading.Thread(target=self._fetch_into, args=(client_id, future), daemon=True).start()
        try:
            document, max_age = future.result(timeout=seconds)
        except FutureTimeout as error:
            raise CIMDError("the client_id document took too long") from error
        finally:
            del future  # a reference cycle (future, error, frame) would keep the connection open
        return usable_part(document), max_age

    def _fetch_into(self, client_id: str, future: Future[tuple[dict[str, Any], int]]) -> None:
        try:
            future.set_result(super().fetch(client_id))
        except Exception as error:  # noqa: BLE001 it is raised in the thread that asked
            future.set_exception(error.with_traceback(None))
        finally:
            _UNDER_WAY.release()

    def _read_document(self, response: Any) -> tuple[dict[str, Any], int]:
        result: tuple[dict[str, Any], int] = super()._read_document(_DeadlineReader(response, self._deadline))
        return result


class _DeadlineReader:
    """A response whose body must arrive by the deadline. Socket time-outs start again with every byte, so they do not
    limit the total."""

    def __init__(self, response: Any, deadline: float) -> None:
        self.status, self.headers = response.status, response.headers
        self._response, self._deadline = response, deadline

    def read(self, limit: int) -> bytes:
        body = b""
        while len(body) < limit and (part := self._response.read1(limit - len(body))):
            body += part
            if time.monotonic() > self._deadline:
                raise CIMDError("the client_id document took too long")
        return body


def usable_part(document: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a document that we serve: allowed redirect URIs, our grant types, no client secret.

    A client that may also authenticate with a key pair (ChatGPT) states so in
    `token_endpoint_auth_methods_supported`; we treat it as a public client. Malformed values stay as they are, and
    the library refuses them.
    """
    part = dict(document)
    uris, grants = document.get("redirect_uris"), document.get("grant_types")
    if isinstance(uris, list) and all(isinstance(uri, str) for uri in uris):
        part["redirect_uris"] = [uri for uri in uris if _may_be(uri)][:MAX_REDIRECT_URIS]
    if isinstance(grants, list):
        part["grant_types"] = [grant for grant in grants if grant in _GRANT_TYPES]
    methods = document.get("token_endpoint_auth_methods_supported")
    if isinstance(methods, list) and "none" in methods:
        part["token_endpoint_auth_method"] = "none"  # noqa: S105 - the name of a method
    part["client_name"] = display_name(document.get("client_name"))
    return part


def _may_be(uri: str) -> bool:
    try:
        redirects.check(uri)
    except redirects.UnsafeRedirectUri:
        return False
    return True


_CLAUDE = "https://claude.ai/oauth"
_CHATGPT = re.compile(r"https://chatgpt\.com/oauth/([A-Za-z0-9_-]{1,64})/client\.json")


def _document(name: str, *redirect_uris: str) -> dict[str, Any]:
    return {"client_name": name, "redirect_uris": list(redirect_uris), "token_endpoint_auth_method": "none"}


# Copies of the documents of the most common clients, as their vendors published them in 2026. With them the clients connect
# where this server has no outside network, or where a vendor's site answers data centres with a challenge page. A redirect
# URI that is not in a copy is looked up in the live document.
_COPIES: dict[str, dict[str, Any]] = {
    f"{_CLAUDE}/mcp-oauth-client-metadata": _document(
        "Claude", "https://claude.ai/api/mcp/auth_callback", "https://claude.com/api/mcp/auth_callback"
    ),
    f"{_CLAUDE}/claude-code-client-metadata": _document(
        "Claude Code", "http://localhost/callback", "http://127.0.0.1/callback"
    ),
    "https://chatgpt.com/oauth/client.json": _document(
        "ChatGPT", "https://chatgpt.com/connector_platform_oauth_redirect"
    ),
    "https://chatgpt.com/oauth/codex/client.json": _document("Codex", "http://127.0.0.1/callback"),
    "https://cursor.com/oauth/mcp-client.json": _document(
        "Cursor",
        "https://www.cursor.com/agents/mcp/oauth/callback",
        "https://www.cursor.com/bot/mcp/oauth/callback",
        "http://localhost:8787/callback",
        "http://127.0.0.1:8787/callback",
        "https://grok.com/connectors-oauth-exchange-code/",
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ),
    "https://vscode.dev/oauth/client-metadata.json": _document(
        "Visual Studio Code",
        "http://127.0.0.1:33418/",
        "http://localhost:33418/",
        "https://vscode.dev/redirect",
        "https://insiders.vscode.dev/redirect",
    ),
    "https://opencode.ai/oauth/opencode/client.json": _document(
        "opencode", "http://127.0.0.1/callback", "http://localhost/callback"
    ),
}


def copy_of(client_id: str) -> dict[str, Any] | None:
    """Return our copy of the document at this URL, with that URL as `client_id`."""
    document = _COPIES.get(client_id)
    if document is None and (match := _CHATGPT.fullmatch(client_id)):
        # ChatGPT has a document, and a callback of the same id, for each connector.
        document = _document("ChatGPT", f"https://chatgpt.com/connector/oauth/{match[1]}")
    return {"client_id": client_id, **document} if document else None
