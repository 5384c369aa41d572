"""The kinds of requests of this console: their paths, and how many of each run concurrently."""

from __future__ import annotations

from typing import Final

from django.conf import settings

from finops.lib.bulkheads import Bulkhead
from finops.lib.turns import Turns
from finops.web.admission import SMALL_BODY, Admission, RequestKind, Uploads
from finops.web.bodies import ArrivingBodies, BodyLimits, Pace
from finops.web.connections import ConnectionWatch, Limits
from finops.web.gateway import Application
from finops.web.shares import own

HEALTH = ("/healthz",)
PAGES_WAITING: Final = 1024
TURN_SECONDS: Final = 0.02
"""Five times what a push of a thousand events computes."""


def request_kinds() -> list[RequestKind]:
    """Return the kinds. Their slots add up to the database pool's connections, so no kind waits for a connection of
    another."""
    form = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    slots = settings.WEB_SLOTS
    return [
        RequestKind(
            ("/api/usage/", "/api/events"),
            Bulkhead("push", size=slots["push"]),
            settings.USAGE_MAX_BODY_BYTES,
            Turns(TURN_SECONDS),
        ),
        # The application reads large parts itself and holds a slot but no database connection meanwhile.
        RequestKind(
            ("/api/costs/", "/scim/"), Bulkhead("cost-push", size=slots["cost-push"], seconds=60), SMALL_BODY
        ),
        RequestKind(
            ("/api/mcp", "/api/v1/"),
            Bulkhead("mcp", size=slots["mcp"], reserved=slots["mcp"] // 4),
            settings.MCP_MAX_BODY_BYTES,
        ),
        RequestKind(("/static/",), Bulkhead("static", size=8), 0),
        RequestKind(("/auth/", "/oauth/", "/.well-known/"), Bulkhead("sign-in", size=slots["sign-in"]), form),
        RequestKind(("/readyz", "/metrics"), Bulkhead("readiness", size=1, waiting=4, seconds=5), 0),
        # Pages wait rather than fail, since a person would have to reload them. Waiting costs no thread.
        RequestKind(
            ("/",),
            Bulkhead("pages", size=slots["pages"], reserved=slots["pages"] // 4, waiting=PAGES_WAITING),
            form,
        ),
    ]


def uploads() -> Uploads:
    slots = settings.WEB_SLOTS
    return Uploads(
        known=Bulkhead("uploads", size=slots["uploads"], seconds=60),
        unknown=Bulkhead("first-uploads", size=slots["first-uploads"]),
    )


def admission(application: Application) -> Admission:
    shares = own()
    limits = Limits(
        grace=settings.WEB_BODY_GRACE_SECONDS, most_of_address=settings.WEB_CONNECTIONS_PER_ADDRESS
    )
    ConnectionWatch(limits, behind_proxy=settings.PROXY_COUNT > 0, shares=shares).start()
    return Admission(
        application,
        ArrivingBodies(BodyLimits()),
        request_kinds(),
        uploads(),
        HEALTH,
        Pace(grace=settings.WEB_BODY_GRACE_SECONDS),
        shares,
    )
