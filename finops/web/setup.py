"""The kinds of requests of this console: their paths, and how many of each run concurrently."""

from __future__ import annotations

from typing import Final

from django.conf import settings

from finops.lib.turns import Turns
from finops.web.admission import SMALL_BODY, Admission, Application, Door, Uploads
from finops.web.bulkheads import Bulkhead
from finops.web.connections import ConnectionWatch, Limits
from finops.web.requests import OpenRequests, Room
from finops.web.shares import own

HEALTH = ("/healthz",)
TURN_SECONDS: Final = 0.02
"""Five times what a push of a thousand events computes."""


def doors() -> list[Door]:
    """Return the kinds. Their places add up to the database pool's connections, so no kind waits for a connection of
    another."""
    form = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    places = settings.WEB_PLACES
    return [
        Door(
            ("/api/usage/", "/api/events"),
            Bulkhead("push", size=places["push"]),
            settings.USAGE_MAX_BODY_BYTES,
            Turns(TURN_SECONDS),
        ),
        # The application reads large parts itself and holds a place but no database connection meanwhile.
        Door(
            ("/api/costs/", "/scim/"), Bulkhead("cost-push", size=places["cost-push"], seconds=60), SMALL_BODY
        ),
        Door(("/api/mcp", "/api/v1/"), Bulkhead("mcp", size=places["mcp"]), settings.MCP_MAX_BODY_BYTES),
        Door(("/static/",), Bulkhead("static", size=8), 0),
        Door(("/auth/", "/oauth/", "/.well-known/"), Bulkhead("sign-in", size=places["sign-in"]), form),
        Door(("/readyz", "/metrics"), Bulkhead("readiness", size=1, waiting=4, seconds=5), 0),
        Door(("/",), Bulkhead("pages", size=places["pages"]), form),
    ]


def uploads() -> Uploads:
    places = settings.WEB_PLACES
    return Uploads(
        known=Bulkhead("uploads", size=places["uploads"], seconds=60),
        unknown=Bulkhead("first-uploads", size=places["first-uploads"]),
    )


def admission(application: Application) -> Admission:
    requests, shares = OpenRequests(Room()), own()
    limits = Limits(
        grace=settings.WEB_BODY_GRACE_SECONDS, most_of_address=settings.WEB_CONNECTIONS_PER_ADDRESS
    )
    ConnectionWatch(requests, limits, behind_proxy=settings.PROXY_COUNT > 0, shares=shares).start()
    return Admission(application, requests, doors(), uploads(), HEALTH, shares)
