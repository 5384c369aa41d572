"""Navigation from a subscription's form to a new channel's form and back, with the entered values in the URL."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from accounts.page_access import AccountRequest
from finops.lib.params import id_of

TYPED: Final = "subscription"
"""The parameter with the values of the subscription's form, as its own query string."""

_OWN: Final = ("csrfmiddlewaretoken", "new_channel", "channel")


def channel_first(request: AccountRequest, subscription_id: int | None = None) -> str:
    """Return the URL of a new channel's form, which returns to this form with its values."""
    fields = request.POST if request.method == "POST" else request.GET
    typed = {name: value for name, value in fields.items() if name not in _OWN}
    if subscription_id is not None:
        typed["id"] = str(subscription_id)
    page = reverse("alert_channel_new", kwargs={"slug": request.account.slug})
    return f"{page}?{urlencode({TYPED: urlencode(typed)})}"


def subscription_url(request: AccountRequest, channel_id: int) -> str:
    """Return the URL of the subscription form that the channel was created for, with it selected; may be empty."""
    if TYPED not in request.GET:
        return ""
    typed = QueryDict(request.GET[TYPED]).dict()
    subscription_id = id_of(str(typed.pop("id", "")))
    path = (
        reverse("alert_subscription_new", kwargs={"slug": request.account.slug})
        if subscription_id is None
        else reverse(
            "alert_subscription_edit",
            kwargs={"slug": request.account.slug, "subscription_id": subscription_id},
        )
    )
    return f"{path}?{urlencode({**typed, 'channel': channel_id})}"
