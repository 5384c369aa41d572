"""Database sessions that cannot be used from a copy of the database: the key is stored as its SHA-256 (it has 165
random bits), and the session's data, such as a second factor's secret during its setup, is sealed.

SESSION_ENGINE. Cost: as Django's own, and one more statement a minute of use.
"""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY as USER_ID
from django.contrib.sessions.backends import db
from django.contrib.sessions.middleware import SessionMiddleware as DjangoMiddleware
from django.http import HttpRequest, HttpResponse

from accounts.models import Session
from accounts.security import known_devices
from finops.lib import clock, sealing
from finops.lib.client_address import client_address

SEEN_EVERY = timedelta(minutes=1)
_PURPOSE = "session"


def digest(key: str) -> str:
    """Return the stored form of a session's key."""
    return hashlib.sha256(key.encode()).hexdigest()


class SessionStore(db.SessionStore):
    """A session store whose `session_key` is the cookie's value; the database holds its digest only."""

    def __init__(self, session_key: str | None = None) -> None:
        super().__init__(session_key)
        self.address = self.client = ""
        self._row: Session | None = None

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def encode(self, session_dict: dict[str, Any]) -> str:
        return sealing.seal(session_dict, purpose=_PURPOSE)

    def decode(self, session_data: str | bytes) -> dict[str, Any]:
        """Return the session's data; empty when it was sealed under a key that no longer exists: the person signs in again."""
        text = session_data if isinstance(session_data, str) else session_data.decode()
        try:
            return sealing.unseal(text, purpose=_PURPOSE)
        except sealing.Unsealable:
            return {}

    def _get_session_from_db(self) -> Session | None:
        rows = Session.objects.filter(session_key=digest(self.session_key or ""), expire_date__gt=clock.now())
        self._row = rows.first()
        if self._row is None:
            self._session_key = None
        elif (idle := clock.now() - self._row.last_seen_at) > SEEN_EVERY:
            # Stored for the whole session: an account with a limit may be opened later, after pages without one.
            longest = max(self._row.longest_idle_seconds, int(idle.total_seconds()))
            self._row.longest_idle_seconds = longest
            rows.update(last_seen_at=clock.now(), longest_idle_seconds=longest, **self._seen_from())
        return self._row

    def exists(self, session_key: str | None = None) -> bool:
        return Session.objects.filter(session_key=digest(session_key or "")).exists()

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        if self._session_key is None:
            self._session_key = self._get_new_session_key()  # type: ignore[attr-defined]
        key = digest(self._session_key)
        before = self._row if self._row is not None and self._row.session_key == key else None
        self._row = Session(
            session_key=key,
            session_data=self.encode(data),
            expire_date=self.get_expiry_date(),
            user_id=data.get(USER_ID),
            created_at=before.created_at if before else clock.now(),
            last_seen_at=clock.now(),
            longest_idle_seconds=before.longest_idle_seconds if before else 0,
            **{"address": before.address, "client": before.client} if before else {},
        )
        for name, value in self._seen_from().items():
            setattr(self._row, name, value)
        return self._row

    def delete(self, session_key: str | None = None) -> None:
        key = session_key or self.session_key
        if key is not None:
            Session.objects.filter(session_key=digest(key)).delete()

    @property
    def signed_in_at(self) -> datetime:
        """When the session began: signing in begins a new one. For an unsaved session, now."""
        return self._row.created_at if self._row is not None else clock.now()

    @property
    def longest_idle(self) -> timedelta:
        """The longest idle time since then, up to a minute too long."""
        return timedelta(seconds=self._row.longest_idle_seconds if self._row is not None else 0)

    def _seen_from(self) -> dict[str, str]:
        return {"address": self.address, "client": self.client} if self.address else {}


class SessionMiddleware(DjangoMiddleware):
    """Django's middleware; the session gets the client's address and User-Agent, and the response of a sign-in the cookie
    of a known device. No browser or proxy keeps a page: after signing out, Back would show it."""

    def process_request(self, request: HttpRequest) -> None:
        store = SessionStore(request.COOKIES.get(settings.SESSION_COOKIE_NAME))
        store.address = client_address(request.META)
        store.client = request.META.get("HTTP_USER_AGENT", "")[:200].replace("\0", "")
        request.session = store

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        known_devices.set_cookie(request, response)
        response.setdefault("Cache-Control", "private, no-store")
        return super().process_response(request, response)
