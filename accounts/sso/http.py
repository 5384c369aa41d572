"""HTTP requests to identity providers, all through the SSRF guard (`finops/lib/outbound`): 10 s, 1 MiB, no redirects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from finops.lib.outbound import DeliveryTimeout, open_stream

SECONDS: Final = 10.0
MAX_BYTES: Final = 1024**2


class GuardedAdapter(BaseAdapter):
    """An adapter of `requests` that sends through the SSRF guard. Raises UrlRefusal and DeliveryTimeout."""

    def send(
        self,
        request: requests.PreparedRequest,
        stream: bool = False,
        timeout: Any = None,
        verify: Any = True,
        cert: Any = None,
        proxies: Mapping[str, str] | None = None,
    ) -> requests.Response:
        """Send the request through the SSRF guard. Raises DeliveryTimeout if the response does not arrive in time."""
        body = request.body.encode() if isinstance(request.body, str) else request.body
        headers = {
            **{str(name): str(value) for name, value in request.headers.items()},
            "Accept-Encoding": "identity",
        }
        method, url = request.method or "GET", request.url or ""
        with open_stream(method, url, body=body, headers=headers, seconds=SECONDS) as answer:  # type: ignore[arg-type]
            content = b""
            while part := answer.read(65_536):
                content += part
                if len(content) > MAX_BYTES:
                    raise DeliveryTimeout(f"{answer.host} sent more than 1 MiB.")
            response = requests.Response()
            response.status_code = answer.status
            response.headers = CaseInsensitiveDict(answer.headers)
        response._content = content
        response.url, response.request, response.encoding = url, request, "utf-8"
        return response

    def close(self) -> None:
        """Do nothing: no connection stays open."""


def guard(session: requests.Session) -> None:
    """Route all requests of a session through the guard, and ignore the proxies and netrc of the environment."""
    session.trust_env = False
    session.adapters.clear()
    session.mount("https://", GuardedAdapter())
    session.mount("http://", GuardedAdapter())
