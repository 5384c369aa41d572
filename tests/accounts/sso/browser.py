"""A person's browser between the console (Django's test client) and a provider (real HTTP)."""

from __future__ import annotations

import html
import re
from typing import Any
from urllib.parse import urlsplit

import httpx
from django.test import Client

from accounts.sso.models import IdentityProvider

CONSOLE = "http://127.0.0.1:8000"


class Browser:
    def __init__(self, client: Client | None = None) -> None:
        self.console = client or Client()
        self.cookies: dict[str, str] = {}

    def start(self, provider: IdentityProvider | None = None, **values: str) -> str:
        """The provider's URL that the console leads to."""
        data = {**values, **({"provider": str(provider.public_id)} if provider else {})}
        answer = self.console.post("/auth/sso/", data)
        assert answer.status_code == 200, answer.content.decode()
        return str(answer.context["url"])

    def at_provider(self, url: str) -> str | dict[str, str]:
        """Through the provider's pages: the console's URL that it leads back to, or the fields of a form that posts there."""
        for _step in range(10):
            with httpx.Client(cookies=self.cookies) as visit:
                answer = visit.get(url)
                self.cookies.update(visit.cookies)
            if answer.status_code in (302, 303):
                url = str(answer.next_request.url) if answer.next_request else ""
                if url.startswith(CONSOLE):
                    return url.removeprefix(CONSOLE)
                continue
            assert answer.status_code == 200, answer.text
            return form_of(answer.text)
        raise AssertionError("the provider leads in a circle")

    def sign_in(self, provider: IdentityProvider | None = None, **values: str) -> Any:
        """The console's last answer, its redirects not followed beyond the sign-in."""
        return self.come_back(self.at_provider(self.start(provider, **values)))

    def come_back(self, answer: str | dict[str, str]) -> Any:
        if isinstance(answer, str):
            return self.console.get(answer)
        # As a browser does from another site: without the console's cookie, which is SameSite=Lax.
        posted = Client().post(
            urlsplit(answer["action"]).path,
            {"SAMLResponse": answer["SAMLResponse"], "RelayState": answer["RelayState"]},
        )
        return self.console.get(posted["Location"]) if posted.status_code == 302 else posted


def form_of(page: str) -> dict[str, str]:
    """`action`, and the fields by their names."""
    action = re.search(r'action="([^"]+)"', page)
    assert action, page
    fields = re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page)
    return {name: html.unescape(value) for name, value in fields} | {"action": html.unescape(action[1])}
