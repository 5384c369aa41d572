"""/.well-known/security.txt (RFC 9116): where weaknesses of this installation are reported."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from finops.lib import clock

VALID = timedelta(days=180)


@require_safe
def security_txt(_request: HttpRequest) -> HttpResponse:
    until = datetime.combine(clock.today() + VALID, time(), tzinfo=UTC)
    lines = (
        f"Contact: {contact()}",
        f"Expires: {until:%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages: en",
        f"Canonical: {settings.PUBLIC_URL}/.well-known/security.txt",
    )
    return HttpResponse("\n".join(lines) + "\n", content_type="text/plain; charset=utf-8")


def contact() -> str:
    """A URI: SECURITY_CONTACT, else the mailbox that RFC 2142 reserves for it at the console's host."""
    configured: str = settings.SECURITY_CONTACT.strip()
    if ":" in configured:
        return configured
    return f"mailto:{configured or 'security@' + (urlsplit(settings.PUBLIC_URL).hostname or 'localhost')}"
