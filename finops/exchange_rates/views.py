"""Settings → Exchange rates: the list, entering one, uploading a file."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.form_pages import UploadPage, form_page
from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.exchange_rates import services
from finops.exchange_rates.display import Display, display_of, display_scope, used_rates
from finops.exchange_rates.forms import RateForm, RateUploadForm
from finops.exchange_rates.models import ExchangeRate
from finops.exchange_rates.queries import table_of
from finops.exchange_rates.rate_files import parse_day
from finops.exchange_rates.rates import RateSpan, plain_rate
from finops.lib import clock
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListFilter, ListPage, csv_response, wants_csv

PAGE = 50
EDITABLE = (ExchangeRate.Source.ENTERED, ExchangeRate.Source.UPLOADED)


RATES = ListPage[ExchangeRate](
    name="exchange-rates",
    title="Exchange rates",
    noun="exchange rate",
    order="-day",
    actions="Delete",
    filters=[
        ListFilter("source", "Source", "All sources", ExchangeRate.Source.choices),
    ],
    columns=[
        Column("day", "Date", lambda row: row.day, css="nowrap", row_header=True),
        Column("from", "From", lambda row: row.base, sortable=False),
        Column("to", "To", lambda row: row.quote, sortable=False),
        Column("rate", "Rate", lambda row: plain_rate(row.rate), numeric=True, sortable=False),
        Column("source", "Source", lambda row: row.get_source_display(), sortable=False),
        Column("recorded", "Recorded", lambda row: row.recorded_at, sortable=False, exported=False),
    ],
)


RATE_UPLOAD = UploadPage(
    form=RateUploadForm,
    template="exchange_rates/rate_upload.html",
    list_url_name="exchange_rates",
    noun="rate",
    upload=services.upload_rates,
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    rows = _rows(request)
    if wants_csv(request):
        return RATES.csv(rows.iterator(chunk_size=500))
    page = Paginator(rows, PAGE).get_page(request.GET.get("page"))
    listing = RATES.listing_of_page(request, page)
    if listing.is_narrowed and not listing.total:
        listing = replace(listing, total=ExchangeRate.objects.count())
    context = {
        "listing": listing,
        "table": table_of(request.account),
        "is_fetched": bool(settings.EXCHANGE_RATES_URL),
        "editable": EDITABLE,
    }
    return render(request, "exchange_rates/rates.html", context)


USED_DAYS = 30
USED_HEADER = ("from", "to", "rate", "start date", "end date", "rate date", "source", "derived")


@account_page()
@require_safe
def daily_rates(request: AccountRequest) -> HttpResponseBase:
    """Return the rates of converted amounts as CSV: of the currency `to`, on the days that have cost in another. One lake
    query."""
    params, today = request.GET, clock.today()
    try:
        display = display_of(request.account, params.get("to", ""))
        first = parse_day(params.get("start_date", f"{today - timedelta(days=USED_DAYS)}"))
        last = parse_day(params.get("end_date", f"{today}"))
        with display_scope(display):
            spans = used_rates(display, (first, last)).spans
    except UserError as problem:
        return HttpResponse(problem.message, status=400, content_type="text/plain; charset=utf-8")
    return csv_response("exchange-rates-used", USED_HEADER, [_span_cells(span, display) for span in spans])


def _span_cells(span: RateSpan, display: Display) -> list[Any]:
    source = ExchangeRate.Source(span.source).label
    days = [span.start, span.end, span.rate_day]
    return [span.currency, display.currency, plain_rate(span.rate), *days, source, span.through]


def _rows(request: AccountRequest) -> QuerySet[ExchangeRate]:
    """Return rows by source; each word of the search is a currency or a date."""
    rows = ExchangeRate.objects.all()
    if source := request.GET.get("source", "").replace("\0", ""):
        rows = rows.filter(source=source)
    for word in request.GET.get("q", "").replace("\0", "").split():
        rows = rows.filter(_matches(word))
    first = "day" if request.GET.get("sort") == "day" else "-day"
    return rows.order_by(first, "base", "quote", "source")


def _matches(word: str) -> Q:
    try:
        return Q(day=parse_day(word))
    except UserError:
        return Q(base=word.upper()) | Q(quote=word.upper())


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    form = RateForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            row = services.enter_rate(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(
                request, f"Rate saved: 1 {row.base} = {plain_rate(row.rate)} {row.quote} on {row.day}."
            )
            return redirect("exchange_rates", slug=request.account.slug)
    return form_page(request, "exchange_rates/rate_new.html", form)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: AccountRequest) -> HttpResponse:
    return RATE_UPLOAD.response(request)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, rate_id: int) -> HttpResponse:
    rate = get_object_or_404(ExchangeRate.objects.select_related("account"), pk=rate_id)
    with ErrorMessages(request):
        services.delete_rate(rate=rate, actor=request.actor)
        messages.success(request, "Rate deleted.")
    return redirect("exchange_rates", slug=request.account.slug)
