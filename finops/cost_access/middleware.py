"""Middleware that denies all cost until an access check has set what its reader may see."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from finops.lib.cost_access import no_decision

GetResponse = Callable[[HttpRequest], HttpResponse]


def undecided_access(get_response: GetResponse) -> GetResponse:
    def middleware(request: HttpRequest) -> HttpResponse:
        with no_decision():
            return get_response(request)

    return middleware
