"""Every type of widget at five widths: nothing overflows its card or overlaps, and long content scrolls."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import NewPage
from tests.browser.layout import NEXT_FRAMES, WIDTHS
from tests.browser.test_connections_accessibility import violations
from tests.browser.test_dashboards import wait_until_drawn
from tests.browser.test_pages import overflow
from tests.servers import LiveServer

pytestmark = pytest.mark.browser

# Cards over each other; what stands out of a widget sideways and cannot be scrolled to; texts that hide what they say.
MISPLACED = """() => {
  const faults = [];
  const cards = [...document.querySelectorAll(".board-card")].map((card) => [card, card.getBoundingClientRect()]);
  const name = (card) => card.querySelector(".card-title").textContent.trim();
  for (const [index, [card, box]] of cards.entries()) {
    for (const [other, beside] of cards.slice(index + 1)) {
      const isApart = box.right <= beside.left + 1 || beside.right <= box.left + 1
        || box.bottom <= beside.top + 1 || beside.bottom <= box.top + 1;
      if (!isApart) faults.push(`${name(card)} over ${name(other)}`);
    }
    const body = card.querySelector(".board-body");
    if (body.scrollWidth > body.clientWidth + 1) faults.push(`${name(card)}: ${body.scrollWidth - body.clientWidth} px too wide`);
    if (body.getBoundingClientRect().bottom > box.bottom + 1) faults.push(`${name(card)}: beyond its card`);
    for (const node of card.querySelectorAll("*")) {
      if (!node.clientWidth || node === body || node.closest("svg, .visually-hidden, [data-chart], .table-responsive, .dropdown-menu")) continue;
      const { overflowX, overflowY } = getComputedStyle(node);
      const isCut = (overflowX === "hidden" && node.scrollWidth > node.clientWidth + 1)
        || (overflowY === "hidden" && node.scrollHeight > node.clientHeight + 1);
      if (isCut) faults.push(`${name(card)}: cut: ${node.outerHTML.slice(0, 100)}`);
    }
    for (const chart of card.querySelectorAll("[data-chart]"))
      if (chart.clientHeight < 60) faults.push(`${name(card)}: a chart ${chart.clientHeight} px high`);
  }
  return faults;
}"""


@pytest.fixture(scope="module")
def board(console: LiveServer) -> str:
    number = console.run("tests.browser.people:board_of_every_widget")
    return f"/a/acme/dashboards/{number}/"


def at_width(page: Page, width: int) -> list[str]:
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate(NEXT_FRAMES)
    faults = [f"{width}: {fault}" for fault in page.evaluate(MISPLACED)]
    return [*faults, *[f"{width}: {over} px too wide" for over in [overflow(page)] if over]]


def test_no_widget_is_cut_or_covered_at_any_width(new_page: NewPage, board: str) -> None:
    page = new_page("member", width=WIDTHS[0])
    page.goto(board)
    wait_until_drawn(page)

    faults = [fault for width in WIDTHS for fault in at_width(page, width)]

    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(("width", "theme"), [(390, "light"), (1440, "dark")])
def test_a_board_has_no_fault_of_accessibility(new_page: NewPage, board: str, width: int, theme: str) -> None:
    page = new_page("member", width=width, theme=theme)
    page.goto(board)
    wait_until_drawn(page)

    assert violations(page) == []
