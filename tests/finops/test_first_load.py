"""What a browser loads before it shows a page for the first time, compressed as the server sends it."""

from __future__ import annotations

import re
from os.path import normpath
from pathlib import Path

import brotli
import pytest
from django.contrib.staticfiles import finders
from django.test import Client

from accounts.models import Account
from tests.world.dashboards import create_board, widget

pytestmark = pytest.mark.django_db
MAX_KILOBYTES = 350
LOADED = re.compile(
    r'<(?:script src|script type="module" src|link rel="stylesheet"\s+href)="/static/([^"]+)"'
)
IMPORTED = re.compile(r"""\b(?:from|import) "(\.[^"]+)";""")


def with_imports(name: str) -> set[str]:
    """A script with the modules that it imports, each by its name below /static/."""
    text = source(name).decode()
    if not name.startswith("js/"):
        return {name}
    imported = {normpath(Path(name).parent / path) for path in IMPORTED.findall(text)}
    return {name}.union(*map(with_imports, imported))


def source(name: str) -> bytes:
    path = finders.find(name)
    assert path is not None, name
    return Path(path).read_bytes()


@pytest.mark.parametrize("page", ["dashboard", "cost-explorer/"], ids=["board", "explorer"])
def test_a_page_with_charts_loads_little(acme: Account, member: Client, page: str) -> None:
    path = page.replace("dashboard", f"dashboards/{create_board(acme, 'Weekly', widget('total')).pk}/")
    html = member.get(f"/a/acme/{path}").content.decode()

    names = set().union(*map(with_imports, LOADED.findall(html)))
    sizes = {name: len(brotli.compress(source(name))) / 1000 for name in names}
    sizes["the page"] = len(brotli.compress(html.encode())) / 1000

    assert {"vendor/echarts/echarts.min.js", "js/lib/numbers.js", "css/console.css"} <= set(sizes)
    assert sum(sizes.values()) < MAX_KILOBYTES, sorted(sizes.items(), key=lambda each: -each[1])
