"""The rules of page structure find a fault of each kind, and none in a page without faults."""

from __future__ import annotations

import pytest

from tests.page_structure import faults_of

PAGE = "<!doctype html><nav></nav><main><h1>A</h1>%s</main>"


@pytest.mark.parametrize(
    "part",
    [
        "",
        '<label>Name <input name="a"></label>',
        '<label for="a" class="required">Name</label><input id="a" required>',
        '<input type="hidden" name="a"><select aria-label="Kind"></select>',
        '<button><img alt="Close"></button><a href="/" title="Home"></a>',
        "<code>{{ name }} cost_source</code><template><button></button></template>",
    ],
)
def test_a_page_without_faults_has_none(part: str) -> None:
    assert faults_of(PAGE % part) == []


@pytest.mark.parametrize(
    "part",
    [
        "<h1>B</h1>",
        '<p id="a"></p><p id="a"></p>',
        '<input name="a">',
        '<label for="b">Name</label><textarea id="a"></textarea>',
        '<label for="a">Name</label><input id="a" required>',
        "<button> </button>",
        '<a href="/"></a>',
        "<p>{{ name }}</p>",
        "<p>Decimal(&#x27;1&#x27;)</p>",
        "<p>&lt;Budget object (1)&gt;</p>",
        "<p>&amp;lt;b</p>",
        "<td>cost_source</td>",
    ],
)
def test_each_fault_is_found(part: str) -> None:
    assert len(faults_of(PAGE % part)) == 1


def test_a_page_needs_landmarks_and_a_heading_and_a_part_of_one_does_not() -> None:
    assert len(faults_of("<!doctype html>")) == 3
    assert faults_of("<p>Part</p>") == []
