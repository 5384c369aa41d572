"""The authentication backend that checks passwords (settings.AUTHENTICATION_BACKENDS)."""

from __future__ import annotations

from allauth.account.auth_backends import AuthenticationBackend as DefaultBackend

from accounts.models import User
from accounts.services.addresses import people_of_address


class AuthenticationBackend(DefaultBackend):  # type: ignore[misc]
    """allauth's backend with constant query count: allauth's own sends one query more for an unverified address, which its
    response time would reveal."""

    def _authenticate_by_email(self, email: str, password: str) -> User | None:
        for user in people_of_address(email):
            if self._check_password(user, password):
                return user
        return None
