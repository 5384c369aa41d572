"""Cross-origin requests of clients in a browser: allowed from any origin for endpoints that need no cookie, never
with a cookie."""

from __future__ import annotations

import functools
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

View = Callable[[HttpRequest], HttpResponse]

ALLOWED_HEADERS = "Authorization, Content-Type, Accept, MCP-Protocol-Version"


def open_to_browsers(method: str) -> Callable[[View], View]:
    """Allow `method` from any origin and answer its preflight request; any other method gets 405."""

    def decorate(view: View) -> View:
        @functools.wraps(view)
        def endpoint(request: HttpRequest) -> HttpResponse:
            response = _answer(request)
            response["Access-Control-Allow-Origin"] = "*"
            response["Access-Control-Expose-Headers"] = "WWW-Authenticate, Retry-After"
            return response

        def _answer(request: HttpRequest) -> HttpResponse:
            allowed = {method, "HEAD"} if method == "GET" else {method}
            if request.method in allowed:
                return view(request)
            if request.method == "OPTIONS":
                return _preflight(method)
            return HttpResponseNotAllowed([method, "OPTIONS"])

        return endpoint

    return decorate


def _preflight(method: str) -> HttpResponse:
    headers = {
        "Allow": f"{method}, OPTIONS",
        "Access-Control-Allow-Methods": f"{method}, OPTIONS",
        "Access-Control-Allow-Headers": ALLOWED_HEADERS,
        "Access-Control-Max-Age": "86400",
    }
    return HttpResponse(status=204, headers=headers)
