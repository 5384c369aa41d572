"""HTTP sessions of a bucket's client. Their own module: aiobotocore takes half a second to import."""

from __future__ import annotations

from typing import Any

from aiobotocore.httpsession import AIOHTTPSession

REDIRECTS = (301, 302, 303, 307, 308)


class EndpointRedirect(OSError):
    """An endpoint that somebody entered answered with a redirect."""


class NoRedirectSession(AIOHTTPSession):
    """Gives an answer of 3xx to botocore as it is, as its own synchronous client does, and which then asks another region of
    AWS; aiohttp would follow it to wherever the other side says."""

    refuses_redirects = False

    async def _get_session(self, proxy_url: str | None) -> Any:
        return _NoRedirect(await super()._get_session(proxy_url), refuses=self.refuses_redirects)


class EndpointSession(NoRedirectSession):
    """For endpoints that people entered: raises EndpointRedirect. botocore would look for the bucket's region there, again and
    again as deep as Python goes."""

    refuses_redirects = True


class _NoRedirect:
    def __init__(self, session: Any, *, refuses: bool) -> None:
        self._session = session
        self._refuses = refuses

    async def request(self, method: str, **arguments: Any) -> Any:
        """Raises EndpointRedirect where redirects are refused; none is followed."""
        response = await self._session.request(method, **arguments, allow_redirects=False)
        if self._refuses and response.status in REDIRECTS:
            response.close()
            raise EndpointRedirect("the endpoint redirects")
        return response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)
