"""Import rules from a YAML file. The editor shows them with the effect of saving, and saves them."""

from __future__ import annotations

from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.forms import CostTagForm, YamlForm
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tags import effect
from finops.allocation.rules import NORMALISATIONS, AllOf, Copy, CostTagDraft, Not, Rule, Test
from finops.allocation.rules.yaml import draft_to_yaml
from finops.allocation.services.cost_tags import cost_tag_from_yaml
from finops.allocation.views.cost_tag_editor import SaveReview, editor_page, problem_of
from finops.costs.views.choices import OPS
from finops.lib.errors import UserError

EXAMPLE = CostTagDraft(
    key="environment",
    description="Customer-facing and internal cost",
    default_value="shared",
    rules=(
        Rule(
            name="Production",
            when=AllOf(
                (
                    Test(dimension="account", values=("111111111111", "222222222222")),
                    Not(Test(dimension="tag:env", op="contains", values=("test", "sandbox"))),
                )
            ),
            value="production",
        ),
        Rule(
            name="As tagged",
            copy=Copy(keys=("env", "environment"), normalise=("trim", "lower"), map=(("prd", "production"),)),
        ),
    ),
)
"""The example of the format on the page and in docs/cost-tags.md."""


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: AccountRequest) -> HttpResponseBase:
    """Import a file. A key that the account has replaces that cost tag's rules; another key makes a new cost tag."""
    if request.method != "POST":
        return _page(request, YamlForm())
    form = YamlForm(request.POST, request.FILES)
    if form.is_valid():
        try:
            return _open_editor(request, cost_tag_from_yaml(form.cleaned_data["yaml"]))
        except UserError as problem:
            form.add_error("file" if form.cleaned_data["file"] else "text", problem.message)
    return _page(request, form)


def _open_editor(request: AccountRequest, draft: CostTagDraft) -> HttpResponse:
    """Render the editor with the file's rules and the effect of saving them."""
    cost_tag = CostTag.objects.filter(key__iexact=draft.key).first()
    version = cost_tag.version if cost_tag else None
    try:
        review = SaveReview(effect=effect(request.account, cost_tag, draft), draft=draft, version=version)
    except UserError as problem:
        review = SaveReview(problem=problem_of(problem))
    return editor_page(
        request, CostTagForm.of(draft, version=version), cost_tag, review=review, imported=True
    )


def _page(request: AccountRequest, form: YamlForm) -> HttpResponse:
    context = {
        "form": form,
        "example": draft_to_yaml(EXAMPLE),
        "ops": OPS,
        "normalisations": NORMALISATIONS.items(),
        "post_url": reverse("cost_tag_import", args=[request.account.slug]),
    }
    return render(request, "allocation/cost_tag_import.html", context, status=422 if form.errors else 200)
