from __future__ import annotations

from django.contrib.staticfiles import finders
from django.test import Client


def test_browsers_find_an_icon_for_what_is_no_page() -> None:
    answer = Client().get("/favicon.ico")
    assert answer.status_code == 302
    location = answer.headers["Location"]
    assert location.startswith("/static/img/logo")
    assert finders.find("img/logo.svg")
