"""A page with a query: a form whose state is the URL, and its answer, which htmx can request without the page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Generic, TypeVar
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django_htmx.middleware import HtmxDetails
from msgspec import structs

from finops.lib.errors import UserError
from finops.lib.listing import wants_csv
from finops.lib.params import as_arguments
from finops.lib.periods import DEFAULT_PERIOD, Period
from finops.lib.url_query import UrlQuery, query_from_params


class HtmxRequest(HttpRequest):
    """A request with django-htmx's attribute: whether htmx made it."""

    htmx: HtmxDetails


Request = TypeVar("Request", bound=HtmxRequest)
Query = TypeVar("Query", bound=UrlQuery)
Answer = TypeVar("Answer")

ALL_ROWS = 1_000_000


class QueryPage(ABC, Generic[Request, Query, Answer]):
    """One request of a page with a query. A subclass declares the parts, `response` combines them.

    Required: `template`, the whole page; `result_template`, the part that htmx swaps; `first_query`, the query of a URL
    without parameters; `answer`; `csv`. The other parts have a default.
    """

    template: ClassVar[str]
    result_template: ClassVar[str]
    first_query: Query
    default_period: ClassVar[Period | None] = DEFAULT_PERIOD
    """The period of a URL without days. None: the answer selects it."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.as_csv = wants_csv(request)

    def url_params(self) -> dict[str, list[str]]:
        """The URL parameters that belong to the query."""
        return dict(self.request.GET.lists())

    def complete(self, query: Query) -> Query:
        """Return the query with the parts that its URL leaves out. Raises UserError."""
        return query

    @abstractmethod
    def answer(self, query: Query) -> Answer | None:
        """Return the answer; None when there is nothing to query yet. Raises UserError with what the person can correct."""

    @abstractmethod
    def csv(self, query: Query) -> HttpResponseBase:
        """Return all rows of the answer as CSV. Raises UserError."""

    def all_rows(self, query: Query) -> Any:
        """Return the answer with every group as its own row. Raises UserError."""
        return self.answer(structs.replace(query, limit=ALL_ROWS))

    def result(self, query: Query, answer: Answer) -> Mapping[str, Any]:
        """Return the result's context besides `answer` itself: charts, tables. Raises UserError."""
        return {}

    def context(self, query: Query, answer: Answer | None) -> Mapping[str, Any]:
        """Return the context of page and result, with and without an answer."""
        return {}

    def choices(self, query: Query) -> Mapping[str, Any]:
        """Return the options of the form's fields; only the whole page needs them."""
        return {}

    def filter_row(self, query: Query, params: Mapping[str, list[str]]) -> Mapping[str, Any]:
        """Return the filters that are outside of the form: on the whole page, and beside the result for htmx."""
        return {}

    def response(self) -> HttpResponseBase:
        """Return the whole page, only its result for htmx, or all rows as CSV. An invalid query: 400 with what to correct."""
        query, answer, status = self.first_query, None, 200
        result: dict[str, Any] = {}
        try:
            query = query_from_params(self.url_params(), query, default_period=self.default_period)
            query = self.complete(query)
            if self.as_csv:
                return self.csv(query)
            answer = self.answer(query)
            if answer is not None:
                result = {"answer": answer, "mcp_arguments": as_arguments(query)}
                result.update(self.result(query, answer))
        except UserError as problem:
            status, result = 400, {"error": problem.message}
        context = {"query": query, "params": query.to_params(), **result, **self.context(query, answer)}
        return render_query_page(
            self.request,
            page=self.template,
            result=self.result_template,
            context=context,
            choices=lambda: {**self.choices(query), **self.filter_row(query, context["params"])},
            beside=lambda: self.filter_row(query, context["params"]) if status == 200 else {},
            status=status,
        )


PART: Final = "layouts/query_part.html"
"""The result, with the elements outside of it that depend on the query."""


def render_query_page(
    request: HtmxRequest,
    *,
    page: str,
    result: str,
    context: Mapping[str, Any],
    choices: Callable[[], Mapping[str, Any]],
    beside: Callable[[], Mapping[str, Any]] = dict,
    status: int = 200,
) -> HttpResponse:
    """Render the template `page` with the form's options; for htmx only the template `result`, with the elements of
    `beside`, and the query for the address bar: `params` of the context, or the request's own parameters when the status
    says that they are invalid."""
    if not request.htmx or request.htmx.history_restore_request:
        return render(request, page, {**context, **choices()}, status=status)
    response = render(request, PART, {**context, **beside(), "part": result}, status=status)
    query_string = urlencode(context["params"], doseq=True) if status == 200 else request.GET.urlencode()
    response["HX-Push-Url"] = f"{request.path}?{query_string}"
    return response
