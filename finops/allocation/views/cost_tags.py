"""The list of cost tags, the export of a file of rules, and deletion."""

from __future__ import annotations

import dataclasses
from decimal import Decimal

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.cost_tags.schemas import CostTagInfo
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tag_coverage import CostTagCoverage, cost_tag_coverages
from finops.allocation.queries.cost_tags import list_cost_tags
from finops.allocation.queries.tag_starts import tag_starts
from finops.allocation.rules import CostTagDraft
from finops.allocation.services.cost_tags import cost_tag_to_yaml, delete_cost_tag
from finops.lib.listing import Column, ListPage, csv_cell


@dataclasses.dataclass(frozen=True)
class CostTagRow:
    """A row of the list of cost tags."""

    info: CostTagInfo
    coverage: CostTagCoverage

    @property
    def first_share(self) -> Decimal | None:
        """The share in the currency with the most cost, which the list sorts by."""
        return self.coverage.covered[0].share if self.coverage.covered else None

    @property
    def coverage_words(self) -> str:
        shares = [(each.share, each.currency) for each in self.coverage.covered]
        return ", ".join(
            f"{csv_cell(share)} of {currency}" for share, currency in shares if share is not None
        )


COST_TAGS = ListPage[CostTagRow](
    name="cost-tags",
    title="Cost tags",
    noun="cost tag",
    order="key",
    columns=[
        Column("key", "Key", lambda row: row.info.key),
        Column("description", "Description", lambda row: row.info.description, shown=False),
        Column("rules", "Rules", lambda row: len(row.info.rules), numeric=True),
        Column("coverage", "Coverage", lambda row: row.first_share, numeric=True, help="tag-coverage"),
        Column("coverage_by_currency", "By currency", lambda row: row.coverage_words, shown=False),
        Column("changed", "Updated", lambda row: row.info.changed_at, css="nowrap"),
        Column("by", "By", lambda row: row.info.changed_by, css="cell-name"),
    ],
)


@account_page()
@require_safe
def index(request: AccountRequest) -> HttpResponseBase:
    infos = list_cost_tags(request.account)
    coverage_by_key = cost_tag_coverages(request.account, [_draft(info) for info in infos])
    rows = [CostTagRow(info, coverage_by_key.get(info.key, CostTagCoverage())) for info in infos]
    context = {"starts": [] if infos else tag_starts(request.account)}
    return COST_TAGS.response(request, rows, "allocation/cost_tags.html", context)


def _draft(info: CostTagInfo) -> CostTagDraft:
    return CostTagDraft(key=info.key, rules=info.rules, default_value=info.default_value)


@account_page()
@require_safe
def export(request: AccountRequest, cost_tag_id: int) -> HttpResponse:
    """Return the rules as a YAML file, which the import reads unchanged."""
    cost_tag = get_object_or_404(CostTag.objects.all(), pk=cost_tag_id)
    response = HttpResponse(cost_tag_to_yaml(cost_tag), content_type="application/yaml; charset=utf-8")
    name = slugify(cost_tag.key) or "rules"
    response["Content-Disposition"] = f'attachment; filename="cost-tag-{name}.yaml"'
    response["Cache-Control"] = "private, no-store"
    return response


@account_page(Role.MEMBER)
@require_POST
def delete(request: AccountRequest, cost_tag_id: int) -> HttpResponse:
    """Delete the cost tag, or show what uses it."""
    cost_tag = get_object_or_404(CostTag.objects.select_related("account"), pk=cost_tag_id)
    with ErrorMessages(request):
        delete_cost_tag(cost_tag=cost_tag, actor=request.actor)
        messages.success(request, f"Cost tag {cost_tag.key} deleted. Its rules are in the audit log.")
        return redirect("cost_tags", slug=request.account.slug)
    return redirect("cost_tag", slug=request.account.slug, cost_tag_id=cost_tag_id)
