"""Reauthentication by password or second factor."""

from __future__ import annotations

import time

from allauth.account import app_settings
from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import get_authentication_records
from allauth.account.internal.flows.reauthentication import did_recently_reauthenticate
from allauth.core.exceptions import ReauthenticationRequired
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, resolve_url
from django.utils.http import urlencode


def is_recently_authenticated(request: HttpRequest) -> bool:
    """Whether the person authenticated within ACCOUNT_REAUTHENTICATION_TIMEOUT, by signing in or since; True too for a
    person with neither password nor second factor."""
    records = get_authentication_records(request, request.user)
    if records and time.time() - records[-1]["at"] < app_settings.REAUTHENTICATION_TIMEOUT:
        return True
    return bool(did_recently_reauthenticate(request))


def reauthenticate_first(request: HttpRequest) -> None:
    """Return if the person authenticated recently; else allauth's middleware redirects to reauthentication and repeats this
    request afterwards. Call it before any write."""
    if not is_recently_authenticated(request):
        raise ReauthenticationRequired


def reauthenticate_and_return(request: HttpRequest) -> HttpResponse:
    """Redirect to reauthentication, then to this URL by GET: for responses that a browser accepts after its own form only."""
    methods = get_adapter(request).get_reauthentication_methods(request.user)
    query = urlencode({REDIRECT_FIELD_NAME: request.get_full_path()})
    return redirect(f"{resolve_url(methods[0]['url'])}?{query}")
