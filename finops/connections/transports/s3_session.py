"""HTTP and role sessions of a bucket's client. A separate module, since aiobotocore takes half a second to import."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from aiobotocore.credentials import AioRefreshableCredentials
from aiobotocore.httpsession import AIOHTTPSession
from aiobotocore.session import AioSession

if TYPE_CHECKING:
    from finops.connections.transports.s3 import S3Credentials

REDIRECTS = (301, 302, 303, 307, 308)


class EndpointRedirect(OSError):
    """An endpoint entered by a person answered with a redirect."""


class NoRedirectSession(AIOHTTPSession):
    """Passes 3xx responses to botocore unchanged, as its synchronous client does; botocore then tries another AWS
    region. aiohttp would follow the redirect to any host."""

    refuses_redirects = False

    async def _get_session(self, proxy_url: str | None) -> Any:
        return _NoRedirect(await super()._get_session(proxy_url), refuses=self.refuses_redirects)


class EndpointSession(NoRedirectSession):
    """Session for endpoints entered by people: raises EndpointRedirect. botocore would search for the bucket's region
    there, recursively without a limit."""

    refuses_redirects = True


class _NoRedirect:
    def __init__(self, session: Any, *, refuses: bool) -> None:
        self._session = session
        self._refuses = refuses

    async def request(self, method: str, **arguments: Any) -> Any:
        """Send a request. Raises EndpointRedirect if redirects are refused; none is followed."""
        response = await self._session.request(method, **arguments, allow_redirects=False)
        if self._refuses and response.status in REDIRECTS:
            response.close()
            raise EndpointRedirect("the endpoint redirects")
        return response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


def renewable_session(credentials: S3Credentials) -> AioSession:
    """Sign requests with these credentials, and renew them ten minutes before their expiry, or earlier. A request
    raises the errors of `renew`."""
    session = AioSession()
    session.register_component("credential_provider", _SessionCredentials(credentials))
    return session


class _SessionCredentials:
    """A resolver for botocore with one fixed credential."""

    def __init__(self, credentials: S3Credentials) -> None:
        self._credentials = credentials

    async def load_credentials(self) -> AioRefreshableCredentials:
        return AioRefreshableCredentials.create_from_metadata(
            _metadata(self._credentials), refresh_using=self._renew, method="assume-role"
        )

    async def _renew(self) -> dict[str, str | None]:
        assert self._credentials.renew is not None  # noqa: S101 else there is no session to renew
        return _metadata(await asyncio.to_thread(self._credentials.renew))


def _metadata(credentials: S3Credentials) -> dict[str, str | None]:
    assert credentials.expiry is not None  # noqa: S101 a session has an end
    return {
        "access_key": credentials.key,
        "secret_key": credentials.secret,
        "token": credentials.token,
        "expiry_time": credentials.expiry.isoformat(),
    }
