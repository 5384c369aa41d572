"""Pages and downloads as text."""

from __future__ import annotations

import csv
import html
import io
import re
from typing import Any

from django.test import Client


def text_of(response: Any, *, status: int = 200) -> str:
    """Return the text of a page without markup, with single spaces. Raises AssertionError for another status."""
    assert response.status_code == status, response.content
    page = response.content.decode().replace("<wbr>", "")  # where a word may break
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def get_page(client: Client, url: str, **query: Any) -> str:
    """Return the text of the page at this address."""
    return text_of(client.get(url, query))


def get_html(client: Client, url: str, *, status: int = 200) -> str:
    """Return the page at this address as it is sent. Raises AssertionError for another status."""
    answer: Any = client.get(url)
    assert answer.status_code == status, url
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(body, "utf-8")


def csv_rows(response: Any) -> list[dict[str, str]]:
    """Return the rows of a CSV download, by the names of its columns."""
    return list(csv.DictReader(io.StringIO(response.getvalue().decode())))
