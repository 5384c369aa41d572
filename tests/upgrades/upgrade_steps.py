"""Functions that tests run with the new version's programs on an old version's data."""

from __future__ import annotations

from django.test import Client

from accounts.models import Membership
from tests.isolation.discovery import account_routes, fill


def open_pages() -> dict[str, int]:
    """Each page of each account that needs nothing but the account, as its owner: its status by its address."""
    statuses: dict[str, int] = {}
    for membership in Membership.objects.filter(role="owner").select_related("account", "user"):
        client = Client(raise_request_exception=False)
        client.force_login(membership.user)
        for route in account_routes():
            if route.arguments == ("slug",):
                path = fill(route, membership.account.slug, {})
                statuses[path] = client.get(path).status_code
    return statuses
