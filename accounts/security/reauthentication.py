"""Asking for the password, or the second factor, once more."""

from __future__ import annotations

from allauth.account.internal.flows.reauthentication import is_reauthentication_required
from allauth.core.exceptions import ReauthenticationRequired
from django.http import HttpRequest


def reauthenticate_first(request: HttpRequest) -> None:
    """Return where the person proved herself within ACCOUNT_REAUTHENTICATION_TIMEOUT; else allauth's middleware sends her to
    do so and goes on with this very request afterwards. Call it before anything is written."""
    if is_reauthentication_required(request, app="allauth.account"):
        raise ReauthenticationRequired
