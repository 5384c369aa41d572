from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.template import engines
from django.test import RequestFactory

from finops.lib import query_page
from finops.lib.errors import UserError
from finops.lib.listing import csv_response
from finops.lib.query_page import ALL_ROWS, QueryPage
from finops.lib.url_query import UrlQuery


class TreeQuery(UrlQuery, frozen=True, kw_only=True):
    period: str | None = None
    kind: str = ""
    limit: int = 10


class TreePage(QueryPage[Any, TreeQuery, list[str]]):
    template = "page"
    result_template = "result"
    first_query = TreeQuery(kind="oak")

    def answer(self, query: TreeQuery) -> list[str]:
        if query.kind == "fern":
            raise UserError("A fern is no tree.")
        return [query.kind] * min(query.limit, 12)

    def result(self, query: TreeQuery, answer: list[str]) -> dict[str, Any]:
        return {"count": len(answer)}

    def choices(self, query: TreeQuery) -> dict[str, Any]:
        return {"kinds": "oak, ash"}

    def csv(self, query: TreeQuery) -> Any:
        return csv_response("trees", ["kind"], [[kind] for kind in self.all_rows(query)])


@pytest.fixture(autouse=True)
def templates(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {
        "page": "Kinds: {{ kinds }}. {{ count }}{{ error }}",
        "layouts/query_part.html": "{{ part }}: {{ kinds }}{{ count }}{{ error }}",
    }

    def render(request: Any, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
        text = engines["django"].from_string(texts[template]).render(context)
        return HttpResponse(text, status=status)

    monkeypatch.setattr(query_page, "render", render)


def get(params: dict[str, Any], *, htmx: bool = False) -> Any:
    request: Any = RequestFactory().get("/trees/", params)
    request.htmx = type("Htmx", (), {"__bool__": lambda _self: htmx, "history_restore_request": False})()
    return TreePage(request).response()


def test_the_whole_page_has_the_choices_of_the_form() -> None:
    assert get({}).content == b"Kinds: oak, ash. 10"
    assert get({"kind": "ash", "limit": "3"}).content == b"Kinds: oak, ash. 3"


def test_htmx_gets_the_result_alone_and_the_question_for_the_address_bar() -> None:
    answer = get({"kind": "ash", "limit": "3", "unknown": "x"}, htmx=True)

    assert answer.content == b"result: 3"
    assert answer["HX-Push-Url"] == "/trees/?period=last_30_days&kind=ash&limit=3"


@pytest.mark.parametrize(
    ("params", "error"),
    [({"kind": "fern"}, b"A fern is no tree."), ({"limit": "many"}, b"limit: Expected `int`, got `str`.")],
)
def test_a_bad_question_is_400_with_what_to_mend(params: dict[str, str], error: bytes) -> None:
    page, part = get(params), get(params, htmx=True)

    assert (page.status_code, page.content) == (400, b"Kinds: oak, ash. " + error)
    assert (part.status_code, part.content) == (400, b"result: " + error)
    assert part["HX-Push-Url"] == f"/trees/?{'&'.join(f'{name}={value}' for name, value in params.items())}"


def test_the_csv_has_all_rows() -> None:
    assert ALL_ROWS > 12

    assert b"".join(get({"kind": "ash", "format": "csv"})) == b"kind\r\n" + b"ash\r\n" * 12


def test_a_csv_of_a_bad_question_is_its_page() -> None:
    assert get({"kind": "fern", "format": "csv"}).status_code == 400
