"""The documentation as Markdown: public, whole, with links that lead somewhere."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django import Settings

from finops.help.documents import SECTIONS
from finops.help.terms import TERMS
from tests.cast import Cast, signed_in
from tests.source_tree import ROOT

NAMES = [document.name for documents in SECTIONS.values() for document in documents]
LINK = re.compile(r"\]\((?!https?://)([^)\s]+)\)")
each_document = pytest.mark.parametrize("name", NAMES)


def test_llms_txt_lists_every_document_at_its_address(settings: Settings) -> None:
    settings.PUBLIC_URL = "https://finops.example.com"

    answer = Client().get("/llms.txt")

    text = answer.content.decode()
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert text.startswith("# FinOps Console\n\n> ")
    assert re.findall(r"\((https://finops\.example\.com/docs/[^)]+)\)", text) == [
        f"https://finops.example.com/docs/{name}.md" for name in NAMES
    ]


@each_document
def test_a_document_is_read_without_a_session(name: str) -> None:
    answer = Client().get(f"/docs/{name}.md")

    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert answer.content.decode().startswith("# ")


@each_document
def test_links_of_a_document_lead_to_documents(name: str) -> None:
    text = Client().get(f"/docs/{name}.md").content.decode()

    targets = {target.partition("#")[0] for target in LINK.findall(text)} - {""}
    assert {target for target in targets if Client().get(f"/docs/{target}").status_code != 200} == set()


def test_a_document_is_the_file_of_the_repository() -> None:
    served = Client().get("/docs/connect-an-assistant.md").content.decode()

    file = (ROOT / "docs/connect-an-assistant.md").read_text()
    assert served.splitlines()[1:8] == file.splitlines()[1:8]
    assert len(served) >= 0.98 * len(file)


def test_the_glossary_has_every_term() -> None:
    text = Client().get("/docs/glossary.md").content.decode()

    assert [term.name for term in TERMS.values() if f"- **{term.name}**: {term.text}" not in text] == []


@pytest.mark.parametrize(
    "path", ["/docs/threat-model.md", "/docs/nothing.md", "/docs/adr.md", "/docs/..%2fREADME.md"]
)
def test_other_files_are_not_served(path: str) -> None:
    assert Client().get(path).status_code == 404


@pytest.mark.parametrize(("page", "name"), [("how-we-count", "how-we-count"), ("glossary", "glossary")])
def test_a_help_page_names_its_markdown(cast: Cast, page: str, name: str) -> None:
    text = signed_in(cast.viewer).get(f"/a/acme/help/{page}/").content.decode()

    assert f'type="text/markdown" href="/docs/{name}.md"' in " ".join(text.split())
