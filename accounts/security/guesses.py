"""Limits of wrong passwords and codes, which lock no person out.

A known device, and a session that is signed in, has a limit of its own. Everybody else shares the limits of an address
(IPv6: a /64), of a person at an address, and of a person at all addresses together. Sign-in with a passkey has nothing to
guess and no limit here; the link of a password reset makes the browser a known device.

Fixed windows (`finops.lib.fixed_window`). Only wrong guesses count.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from django.core.exceptions import ValidationError
from django.http import HttpRequest

from accounts.models import User
from accounts.security.known_devices import device_of, person_of_cookie
from accounts.security.services import current_key
from accounts.services.addresses import people_of_address
from finops.lib.client_address import client_network
from finops.lib.fixed_window import seconds_to_wait, seconds_until_free
from finops.lib.formats.numbers import plural


class _Limit(NamedTuple):
    group: str
    guesses: int
    seconds: int


PER_DEVICE: Final = _Limit("guesses of a device", 5, 300)
PER_PERSON_AND_ADDRESS: Final = _Limit("guesses of a person and address", 5, 300)
PER_PERSON: Final = _Limit("guesses of a person", 30, 3_600)
PER_ADDRESS: Final = _Limit("guesses of an address", 10, 60)


class Guesses:
    """The limits of one request that guesses a secret of `target`, a person's password or second factor. Unknown people
    have the same limits, so that they do not tell who has signed up."""

    def __init__(self, request: HttpRequest, target: str, device: str | None) -> None:
        address = client_network(request.META)
        self._is_known = device is not None
        self._keys = (
            [(PER_DEVICE, f"{target} {device}")]
            if device is not None
            else [
                (PER_PERSON_AND_ADDRESS, f"{target} {address}"),
                (PER_PERSON, target),
                (PER_ADDRESS, address),
            ]
        )

    @classmethod
    def of_password(cls, request: HttpRequest, email: str) -> Guesses:
        """Guesses of the password of the address. One query for a browser with the cookie of a known device."""
        email = email.strip().lower()
        if isinstance(request.user, User):
            return cls(request, f"password of {request.user.pk}", _device(request, request.user))
        has_cookie = person_of_cookie(request) is not None
        device = device_of(request, people_of_address(email)) if has_cookie else None
        return cls(request, f"password of {email}", device)

    @classmethod
    def of_second_factor(cls, request: HttpRequest, user: User) -> Guesses:
        return cls(request, f"second factor of {user.pk}", _device(request, user))

    def check(self) -> None:
        """Raise ValidationError if a limit is reached. Counts nothing."""
        seconds = max(
            seconds_until_free(limit.group, key, limit=limit.guesses, seconds=limit.seconds)
            for limit, key in self._keys
        )
        if seconds:
            minutes = -(-seconds // 60)
            ways = "" if self._is_known else " Or sign in with a passkey, or reset your password."
            raise ValidationError(
                f"Too many failed attempts. Try again in {minutes} {plural('minute', minutes)}.{ways}",
                code="too_many_login_attempts",
            )

    def count_wrong(self) -> None:
        for limit, key in self._keys:
            seconds_to_wait(limit.group, key, limit=limit.guesses, seconds=limit.seconds)


def _device(request: HttpRequest, user: User) -> str | None:
    if request.user == user:
        return f"session {current_key(request)}"
    return device_of(request, [user])
