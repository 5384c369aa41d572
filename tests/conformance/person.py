"""A person with a browser: follows a client's authorization URL, signs in, and answers the consent page.

It reads pages and sends their forms as a browser does: every control that is not disabled, the button that was
pressed, cookies kept, redirects followed while they stay on the console.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import secrets
from collections.abc import Iterator
from html.parser import HTMLParser
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import httpx

from tests.cast import PASSWORD

MAX_STEPS = 10


@dataclasses.dataclass
class Form:
    action: str
    method: str = "get"
    fields: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    choices: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    buttons: list[tuple[str, str]] = dataclasses.field(default_factory=list)

    def form_data(self, answers: dict[str, str]) -> dict[str, str]:
        """What is sent when the person gives these answers. A choice that the page does not offer cannot be given."""
        names = {name for name, _value in [*self.fields, *self.buttons]} | self.choices.keys()
        for name, value in answers.items():
            offered = self.choices.get(name) or [v for n, v in self.buttons if n == name]
            assert name in names, f"the page has no {name!r}"
            assert not offered or value in offered, f"{name!r} offers {offered}, not {value!r}"
        return {**dict(self.fields), **answers}


class _Forms(HTMLParser):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.found, self.inside = url, list[Form](), False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.inside = True
            action = urljoin(self.url, attributes.get("action", "")) if attributes.get("action") else self.url
            self.found.append(Form(action, attributes.get("method", "get").lower()))
        elif self.inside and "disabled" not in attributes and attributes.get("name"):
            self._control(tag, attributes, self.found[-1])

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "form"

    @staticmethod
    def _control(tag: str, attributes: dict[str, str], form: Form) -> None:
        name, value, kind = attributes["name"], attributes.get("value", ""), attributes.get("type", "")
        if tag == "button":
            form.buttons.append((name, value))
        elif tag == "input" and kind in {"radio", "checkbox"}:
            form.choices.setdefault(name, []).append(value)
            if "checked" in attributes:
                form.fields.append((name, value))
        elif tag == "input":
            form.fields.append((name, value))


def forms_of(page: httpx.Response) -> list[Form]:
    reader = _Forms(str(page.url))
    reader.feed(page.text)
    return reader.found


class Person:
    """One browser profile: signed out at first."""

    def __init__(self, email: str, password: str = PASSWORD) -> None:
        self.email, self.password = email, password
        self.pages: list[httpx.Response] = []
        self._cookies = httpx.Cookies()

    def answer(self, authorize_url: str, **answers: str) -> str:
        """The URL of the client that she ends at, having answered the consent page (`decision`, `account`, `access`)."""
        home, url, form = urlsplit(authorize_url).netloc, authorize_url, dict[str, str]()
        with httpx.Client(timeout=30, cookies=self._cookies) as http:
            for _step in range(MAX_STEPS):
                page = http.post(url, data=form, headers={"Referer": url}) if form else http.get(url)
                self.pages.append(page)
                self._cookies = http.cookies
                if page.is_redirect:
                    url, form = urljoin(url, page.headers["Location"]), {}
                    if urlsplit(url).netloc != home:
                        return url
                else:
                    assert page.status_code == 200, page.text[:3000]
                    url, form = self._next(page, answers)
        raise AssertionError(f"no end after {MAX_STEPS} pages, the last was {url}")

    def _next(self, page: httpx.Response, answers: dict[str, str]) -> tuple[str, dict[str, str]]:
        for form in forms_of(page):
            names = {name for name, _value in [*form.fields, *form.buttons]}
            if "password" in names:
                return form.action, form.form_data({"login": self.email, "password": self.password})
            if "decision" in names:
                return form.action, form.form_data({"decision": "allow", **answers})
        raise AssertionError(f"nothing to answer at {page.url}: {page.text[:2000]}")

    def offered(self) -> dict[str, list[str]]:
        """The choices of the last consent page she saw."""
        return next(form.choices for page in reversed(self.pages) for form in _consents(page))


def _consents(page: httpx.Response) -> Iterator[Form]:
    return (form for form in forms_of(page) if ("decision", "deny") in form.buttons)


def authorization_response(url: str) -> dict[str, str]:
    """The parameters of an authorization answer, each of which may be there once."""
    pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
    assert len(pairs) == len(dict(pairs)), pairs
    return dict(pairs)


def connect(url: str, person: Person, **answers: str) -> str:
    """An access token of the console at `url`, by a new client whom the person answers so."""
    callback, verifier = "http://127.0.0.1:9/callback", secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    metadata = {"client_name": "tests", "redirect_uris": [callback]}
    with httpx.Client(base_url=url, timeout=30) as http:
        client_id = http.post("/oauth/register", json=metadata).json()["client_id"]
        query = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": callback,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "resource": f"{url}/api/mcp",
        }
        response = authorization_response(
            person.answer(f"{url}/oauth/authorize?{urlencode(query)}", **answers)
        )
        form = {"grant_type": "authorization_code", "client_id": client_id, "code": response["code"]}
        form |= {"redirect_uri": callback, "code_verifier": verifier}
        return str(http.post("/oauth/token", data=form).json()["access_token"])
