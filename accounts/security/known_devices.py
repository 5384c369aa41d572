"""Known devices: browsers in which a person signed in before (OWASP's device cookie).

Wrong guesses of a known device are counted apart from those of everybody else, so that a stranger who guesses a person's
password does not lock the person out. The cookie is sealed and names up to five people of the browser. A new password,
and ending other sessions, makes every device of the person unknown but the one that did it.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import timedelta
from typing import Any, Final

import msgspec
from django.conf import settings
from django.http import HttpRequest, HttpResponse

from accounts.models import User
from finops.lib import clock, sealing

COOKIE: Final = "finops_device"
LIFETIME: Final = timedelta(days=365)
PEOPLE: Final = 5
_PURPOSE: Final = "known device"
_ATTRIBUTE: Final = "_known_device_cookie"
_MAILED: Final = "mailed link"


class _Entry(msgspec.Struct):
    user: int
    device: str
    state: str
    """Digest of what makes the device unknown when it changes (`_state`)."""
    until: float


class _Cookie(msgspec.Struct):
    entries: list[_Entry]


def remember_device(request: HttpRequest, user: User) -> None:
    """Make this browser a known device of the person: its response sets the cookie. Call it only after the person signed in
    or opened a mailed link. Browsers that opened a link and never signed in are one device together: each link would
    otherwise allow more guesses of a second factor."""
    if request.user == user:
        device = device_of(request, [user]) or _MAILED
        device = secrets.token_urlsafe(12) if device == _MAILED else device
    else:
        device = _MAILED
    until = (clock.now() + LIFETIME).timestamp()
    entries = [entry for entry in _entries(request) if entry.user != user.pk]
    entries = [_Entry(user.pk, device, _state(user), until), *entries][:PEOPLE]
    setattr(request, _ATTRIBUTE, sealing.seal(msgspec.to_builtins(_Cookie(entries)), purpose=_PURPOSE))


def set_cookie(request: HttpRequest, response: HttpResponse) -> None:
    """Add the cookie of a device that this request made known to its response."""
    sealed: str | None = getattr(request, _ATTRIBUTE, None)
    if sealed is not None:
        response.set_cookie(
            f"{settings.COOKIE_PREFIX}{COOKIE}",
            sealed,
            max_age=LIFETIME,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )


def forget_devices(user: User) -> None:
    """Make every device of the person unknown."""
    user.devices_forgotten_at = clock.now()
    user.save(update_fields=["devices_forgotten_at"])


def person_of_cookie(request: HttpRequest) -> int | None:
    """Return the ID of the person whom the browser's cookie names first, known or not any more; None without a cookie. No
    query."""
    entries = _entries(request)
    return entries[0].user if entries else None


def device_of(request: HttpRequest, people: Iterable[User]) -> str | None:
    """Return the ID of this device if it is known to one of the people; else None. No query."""
    states = {user.pk: _state(user) for user in people}
    return next(
        (entry.device for entry in _entries(request) if states.get(entry.user) == entry.state),
        None,
    )


def _entries(request: HttpRequest) -> list[_Entry]:
    sealed: Any = getattr(request, _ATTRIBUTE, None) or request.COOKIES.get(
        f"{settings.COOKIE_PREFIX}{COOKIE}"
    )
    if not sealed:
        return []
    try:
        cookie = msgspec.convert(sealing.unseal(sealed, purpose=_PURPOSE), _Cookie)
    except (sealing.Unsealable, msgspec.ValidationError):
        return []
    now = clock.now().timestamp()
    return [entry for entry in cookie.entries if entry.until > now]


def _state(user: User) -> str:
    return hashlib.sha256(f"{user.password} {user.devices_forgotten_at}".encode()).hexdigest()[:32]
