"""Client ID metadata documents: a client whose id is the https URL of its own description.

Only for a person who is signed in, at the authorization endpoint. django-oauth-toolkit's fetcher guards against
SSRF: https alone, every resolved address public, the connection pinned to the address that was checked (so DNS
cannot rebind), no redirects, 16 KB, a back-off for failures, ten at once. What it lacks is here: an end to a server
or DNS that is slow on purpose, kindness to documents that name more than we need, and a limit for each caller.
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
# Those that are waited for and those that were left; a stuck one ends with its host.
_UNDER_WAY = threading.BoundedSemaphore(10)
COPY_IS_FRESH_FOR = timedelta(days=1)
_GRANT_TYPES = ("authorization_code", "refresh_token")


def resolve(client_id: str, existing: OAuthApplication | None, request: Request) -> OAuthApplication | None:
    """The client as its document says now, or as we knew it, or None. May fetch the document: up to 5 s."""
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
    """In letters that look like what they are: the person is shown the host (clàude.ai), and trusts it."""
    try:
        return not redirects.ODD.search(client_id) and redirects.is_host(urlsplit(client_id).hostname or "")
    except ValueError:
        return False


def _is_fresh(application: OAuthApplication) -> bool:
    return application.cimd_expires_at is not None and application.cimd_expires_at > clock.now()


def _allows(redirect_uris: list[str], redirect_uri: str) -> bool:
    """A request that names none means the only one."""
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
    """One fetch of one document. Raises CIMDError.

    In a thread of its own, which is waited for until the deadline and then left: no time-out of the library ends a
    slow DNS server or headers that drip, and eight such hosts would hold every thread that serves.
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
            del (
                future
            )  # it holds the error, which holds this frame: a ring that would keep the connection open
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
    """A response whose body arrives by the deadline, or not at all: a read may wait as often as bytes drip in."""

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
    """The document with what we serve of it: the callbacks that may be, our grant types, no client secret.

    A client that may also authenticate with a key pair (ChatGPT) says so in `token_endpoint_auth_methods_supported`;
    here it is a public client. What is malformed stays as it is, for the library to refuse.
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


# Copies of the documents of the clients that most people connect, as their makers published them in 2026: so they connect
# where this server reaches no outside network, and where a maker's site answers a data centre with a challenge page. A
# redirect URI that is not in a copy is looked up in the live document.
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
    """Our copy of the document at this URL, with the `client_id` it states."""
    document = _COPIES.get(client_id)
    if document is None and (match := _CHATGPT.fullmatch(client_id)):
        # ChatGPT has a document, and a callback of the same id, for each connector.
        document = _document("ChatGPT", f"https://chatgpt.com/connector/oauth/{match[1]}")
    return {"client_id": client_id, **document} if document else None
