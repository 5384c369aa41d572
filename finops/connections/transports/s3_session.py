"""The HTTP session of a bucket's client. Its own module: aiobotocore takes half a second to import."""

from __future__ import annotations

from typing import Any

from aiobotocore.httpsession import AIOHTTPSession


class NoRedirectSession(AIOHTTPSession):
    """Gives an answer of 3xx to botocore as it is, as its own synchronous client does; aiohttp would follow it to wherever
    the other side says."""

    async def _get_session(self, proxy_url: str | None) -> Any:
        return _NoRedirect(await super()._get_session(proxy_url))


class _NoRedirect:
    def __init__(self, session: Any) -> None:
        self._session = session

    async def request(self, method: str, **arguments: Any) -> Any:
        return await self._session.request(method, **arguments, allow_redirects=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)
