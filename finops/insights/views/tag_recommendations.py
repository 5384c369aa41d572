"""Tag recommendations: the list, the keys by coverage, and one as a draft in the cost tag editor."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.forms import CostTagForm
from finops.allocation.models import CostTag
from finops.allocation.views.cost_tag_editor import editor_page
from finops.insights.tag_recommendations.queries import (
    TagRecommendationsResult,
    find_recommendations,
    recommendation,
)
from finops.insights.tag_recommendations.schemas import (
    KINDS,
    KeyCoverage,
    TagCover,
    TagRecommendation,
    share_of,
)
from finops.insights.templatetags.insights import tag_kind
from finops.lib import sentences
from finops.lib.errors import UserError
from finops.lib.listing import Column, ListPage

KEYS = "keys"
TEMPLATE = "insights/tag_recommendations.html"


def _amounts(covers: Sequence[TagCover]) -> list[str]:
    return [sentences.money(each.amount, each.currency) for each in covers]


RECOMMENDATIONS = ListPage[TagRecommendation](
    name="tag-recommendations",
    title="Tag recommendations",
    noun="recommendation",
    order="-share",
    actions="Draft",
    columns=[
        Column("id", "Id", lambda row: row.id, shown=False),
        Column("kind", "Kind", lambda row: tag_kind(row.kind), shown=False),
        Column("sentence", "Recommendation", lambda row: row.sentence, row_header=True),
        Column("cost_tag", "Cost tag", lambda row: row.cost_tag, css="cell-name"),
        Column("share", "Coverage", lambda row: row.share, numeric=True),
        Column("amounts", "Amounts", lambda row: _amounts(row.covers), shown=False),
        Column("rules", "Rules", lambda row: row.rules, shown=False),
    ],
)
TAG_KEYS = ListPage[KeyCoverage](
    name="tag-keys",
    title="Tag keys",
    noun="tag key",
    order="-share",
    columns=[
        Column("key", "Tag key", lambda row: row.key),
        Column("share", "Cost with the key", lambda row: share_of(row.covers), numeric=True),
        Column("amounts", "Amounts", lambda row: _amounts(row.covers), shown=False),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    """`?kind=` narrows the list; `keys` are the tag keys by coverage."""
    return _page(request)


def _page(request: AccountRequest, *, gone: bool = False) -> HttpResponseBase:
    try:
        result = find_recommendations(request.account)
    except UserError as problem:
        return render(request, TEMPLATE, {"error": problem.message}, status=400)
    kind_param = request.GET.get("kind", "")
    kind = kind_param if kind_param in KINDS or kind_param == KEYS else ""
    context = {"found": result, "kind": kind, "tabs": _tabs(result), "gone": gone}
    if kind == KEYS:
        return TAG_KEYS.response(request, result.keys, TEMPLATE, context)
    rows = [each.row for each in result.details if kind in ("", each.row.kind)]
    return RECOMMENDATIONS.response(request, rows, TEMPLATE, context)


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
        match = recommendation(request.account, request.GET.get("id", ""))
    except UserError:
        match = None
    if match is None:
        return _page(request, gone=True)
    info = match.cost_tag
    cost_tag = get_object_or_404(CostTag.objects.select_related("account"), pk=info.id) if info else None
    form = CostTagForm.of(match.suggestion.draft, version=info.version if info else None)
    return editor_page(request, form, cost_tag, suggestion=match.row.sentence)
