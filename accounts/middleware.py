"""Middleware that sets the reader's locale and time zone."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

from accounts.models import User
from finops.lib.formats.locales import ReaderFormats, lazy_reader_formats


def reader_formats(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Use the formats of the signed-in person, loaded only when a date or a number is formatted; else the defaults."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        with lazy_reader_formats(lambda: _formats(request)):
            return get_response(request)

    return middleware


def _formats(request: HttpRequest) -> ReaderFormats:
    user = request.user
    return (
        ReaderFormats.from_names(user.locale, user.time_zone) if isinstance(user, User) else ReaderFormats()
    )
