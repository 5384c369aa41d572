"""AI prices: the list of an account's own, entering one, uploading a file."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.form_pages import UploadPage, form_page
from accounts.forms import ErrorMessages, FormErrors
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.ai_spend import services
from finops.ai_spend.forms import AiPriceForm, AiPriceUploadForm
from finops.ai_spend.models import AiPrice
from finops.ai_spend.naming import ALL_TOKEN_TYPES
from finops.ai_spend.prices import list_prices
from finops.lib.listing import Column, ListFilter, ListPage

PRICES = ListPage[AiPrice](
    name="ai-prices",
    title="AI prices",
    noun="AI price",
    order="model",
    actions="Delete",
    filters=[
        ListFilter(
            "type",
            "Token type",
            "All token types",
            [(name, name) for name in ALL_TOKEN_TYPES],
            lambda row: row.token_type,
        )
    ],
    columns=[
        Column("model", "Model", lambda row: row.model, row_header=True),
        Column("token_type", "Token type", lambda row: row.token_type, css="nowrap"),
        Column(
            "price_per_million",
            "Price per million",
            lambda row: row.price_per_million.normalize(),
            numeric=True,
        ),
        Column("currency", "Currency", lambda row: row.currency),
        Column("valid_from", "From", lambda row: row.valid_from, css="nowrap"),
        Column("recorded", "Recorded", lambda row: row.recorded_at, exported=False),
    ],
)


PRICE_UPLOAD = UploadPage(
    form=AiPriceUploadForm,
    template="ai_spend/price_upload.html",
    list_url_name="ai_prices",
    noun="price",
    upload=services.upload_prices,
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    context = {"read_on": list_prices().read_on}
    return PRICES.response(request, list(AiPrice.objects.all()), "ai_spend/prices.html", context)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponse:
    form = AiPriceForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        with FormErrors(form):
            row = services.enter_price(account=request.account, actor=request.actor, **form.cleaned_data)
            messages.success(request, f"Price saved: {row}.")
            return redirect("ai_prices", slug=request.account.slug)
    return form_page(request, "ai_spend/price_new.html", form)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def upload(request: AccountRequest) -> HttpResponse:
    return PRICE_UPLOAD.response(request)


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, price_id: int) -> HttpResponse:
    price = get_object_or_404(AiPrice.objects.select_related("account"), pk=price_id)
    with ErrorMessages(request):
        services.delete_price(price=price, actor=request.actor)
        messages.success(request, "Price deleted.")
    return redirect("ai_prices", slug=request.account.slug)
