"""Tag recommendations: the list, the keys by coverage, and one as a draft in the cost tag editor."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page
from accounts.models import Role
from finops.allocation.forms_cost_tags import CostTagForm
from finops.allocation.models import CostTag
from finops.allocation.views.cost_tag_editor import editor_page
from finops.insights.tag_recommendations.queries import (
    TagRecommendationsResult,
    find_recommendations,
    recommendation,
)
from finops.insights.tag_recommendations.schemas import KINDS, KeyCoverage, TagCover, TagRecommendation
from finops.insights.templatetags.insights import tag_kind
from finops.lib import sentences
from finops.lib.errors import UserError
from finops.lib.listing import Column, csv_of, listing, wants_csv

KEYS = "keys"


def _share(covers: Sequence[TagCover]) -> Decimal | None:
    return max((each.share for each in covers if each.share is not None), default=None)


def _amounts(covers: Sequence[TagCover]) -> list[str]:
    return [sentences.money(each.amount, each.currency) for each in covers]


COLUMNS: list[Column[TagRecommendation]] = [
    Column("id", "Id", lambda row: row.id, shown=False),
    Column("kind", "Kind", lambda row: tag_kind(row.kind)),
    Column("sentence", "Recommendation", lambda row: row.sentence),
    Column("cost_tag", "Cost tag", lambda row: row.cost_tag),
    Column("share", "Would cover", lambda row: row.share, numeric=True),
    Column("amounts", "Amounts", lambda row: _amounts(row.covers), shown=False),
    Column("rules", "Rules", lambda row: row.rules, shown=False),
]
KEY_COLUMNS: list[Column[KeyCoverage]] = [
    Column("key", "Tag key", lambda row: row.key),
    Column("share", "Cost with the key", lambda row: _share(row.covers), numeric=True),
    Column("amounts", "Amounts", lambda row: _amounts(row.covers), shown=False),
]


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """`?kind=` narrows the list; `keys` are the tag keys by coverage."""
    return _page(request)


def _page(request: AccountRequest, *, gone: bool = False) -> HttpResponseBase:
    try:
        result = find_recommendations(request.account)
    except UserError as problem:
        context: dict[str, Any] = {"error": problem.message}
        return render(request, "insights/tag_recommendations.html", context, status=400)
    kind_param = request.GET.get("kind", "")
    kind = kind_param if kind_param in KINDS or kind_param == KEYS else ""
    shown: Any
    columns: Any
    if kind == KEYS:
        shown, columns = listing(request, result.keys, KEY_COLUMNS, order="-share"), KEY_COLUMNS
    else:
        rows = [each.row for each in result.details if kind in ("", each.row.kind)]
        shown, columns = listing(request, rows, COLUMNS, order="-share"), COLUMNS
    if wants_csv(request):
        return csv_of("tag-keys" if kind == KEYS else "tag-recommendations", columns, shown.rows)
    context = {"found": result, "kind": kind, "tabs": _tabs(result), "listing": shown, "gone": gone}
    return render(request, "insights/tag_recommendations.html", context)


def _tabs(result: TagRecommendationsResult) -> list[tuple[str, str, int]]:
    """Name, title and number of each."""
    kinds = [each.row.kind for each in result.details]
    return [
        ("", "All", len(kinds)),
        *[(name, title, kinds.count(name)) for name, title in KINDS.items()],
        (KEYS, "Keys by coverage", len(result.keys)),
    ]


@account_page(Role.MEMBER)
@require_safe
def draft(request: AccountRequest) -> HttpResponseBase:
    """The cost tag editor with the draft of `?id=`. Nothing is saved before the person does."""
    try:
        chosen = recommendation(request.account, request.GET.get("id", ""))
    except UserError:
        chosen = None
    if chosen is None:
        return _page(request, gone=True)
    info = chosen.cost_tag
    cost_tag = get_object_or_404(CostTag.objects.select_related("account"), pk=info.id) if info else None
    form = CostTagForm.of(chosen.suggestion.draft, version=info.version if info else None)
    return editor_page(request, form, cost_tag, suggestion=chosen.row.sentence)
