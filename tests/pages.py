"""Pages and downloads as people read them."""

from __future__ import annotations

import csv
import html
import io
import re
from typing import Any

from django.test import Client


def text_of(response: Any, *, status: int = 200) -> str:
    """The words of a page, without markup, one space between them. Raises AssertionError for another status."""
    assert response.status_code == status, response.content
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode())).split())


def get_page(client: Client, url: str, **query: Any) -> str:
    """The words of the page at this address."""
    return text_of(client.get(url, query))


def csv_rows(response: Any) -> list[dict[str, str]]:
    """The rows of a CSV download, by the names of its columns."""
    return list(csv.DictReader(io.StringIO(response.getvalue().decode())))
