"""Help in the console: every “?” leads to a term that the glossary has, every section to one of How we count."""

from __future__ import annotations

import re

from finops.help.terms import TERMS
from tests.cast import Cast, signed_in
from tests.source_tree import ROOT

USED = re.compile(r'\{% help "([^"]+)" %\}|\bterm="([^"]+)"')
COLUMNS = re.compile(r'\bhelp="([a-z0-9-]+)"')


def uses() -> set[str]:
    in_templates = {
        name
        for path in (ROOT / "templates").rglob("*.html")
        for pair in USED.findall(path.read_text())
        for name in pair
        if name
    }
    views = (ROOT / "finops").rglob("views/*.py")
    return in_templates | {name for path in views for name in COLUMNS.findall(path.read_text())}


def test_every_question_mark_is_of_a_term() -> None:
    assert uses() - TERMS.keys() == set()
    assert {"commitment-coverage", "amortized-cost", "unit-cost", "forecast-range"} <= uses()


def test_the_glossary_has_every_term_at_its_anchor(cast: Cast) -> None:
    page = signed_in(cast.viewer).get("/a/acme/help/glossary/").content.decode()

    assert [anchor for anchor in TERMS if f'id="{anchor}"' not in page] == []


def test_every_section_is_one_of_how_we_count(cast: Cast) -> None:
    page = signed_in(cast.viewer).get("/a/acme/help/how-we-count/").content.decode()

    assert {term.section for term in TERMS.values() if f'id="{term.section}"' not in page} == {""}


def test_terms_are_short_enough_for_a_popover() -> None:
    assert {name: len(term.text) for name, term in TERMS.items() if len(term.text) > 140} == {}


def test_a_label_has_a_link_to_its_term_and_the_text_next_to_it(cast: Cast) -> None:
    page = signed_in(cast.owner).get("/a/acme/settings/cost-view/").content.decode()

    assert 'href="/a/acme/help/glossary/#amortized-cost"' in page
    assert TERMS["amortized-cost"].text in page


def test_the_menu_of_help_leads_to_the_docs_of_the_apis(cast: Cast) -> None:
    client = signed_in(cast.viewer)
    page = client.get("/a/acme/teams/").content.decode()
    menu = page[page.index('id="help-menu"') :]

    links = re.findall(r'href="([^"]+)"', menu[: menu.index("</div>\n</div>")])
    assert len(links) >= 7
    assert {link: client.get(link).status_code for link in links} == dict.fromkeys(links, 200)
