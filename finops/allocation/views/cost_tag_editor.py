"""The editor of a cost tag: its rules, a live preview of what they match, and the effect of saving."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from typing import Any

import msgspec
from django.contrib import messages
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import capfirst
from django.views.decorators.http import require_http_methods, require_POST
from django_htmx.http import HttpResponseClientRedirect

from accounts.models import Role
from accounts.page_access import AccountRequest, account_page
from finops.allocation.cost_tag_charts import effect_tables
from finops.allocation.cost_tags.resolution import PREFIX
from finops.allocation.cost_tags.schemas import CostTagEffect
from finops.allocation.cost_tags.text import rule_words
from finops.allocation.forms import CostTagForm
from finops.allocation.models import CostTag
from finops.allocation.queries.cost_tags import effect, preview
from finops.allocation.queries.tag_starts import TagStart, tag_starts
from finops.allocation.rules import NORMALISATIONS, CostTagDraft, RuleError, read_rules, write_draft
from finops.allocation.services.cost_tags import create_cost_tag, draft_of, save_cost_tag
from finops.costs.dimensions import registry
from finops.costs.views.choices import OPS, DimensionChoices, dimension_choices
from finops.lake import queries as lake_queries
from finops.lake.storage.manifest import CostKeys
from finops.lib.errors import UserError


class Problem(msgspec.Struct, frozen=True):
    """An error and its place: the path in the document that cost-tag.js wrote. `short` is shown at the field."""

    message: str
    path: str = "[]"
    short: str = ""


class SaveReview(msgspec.Struct, frozen=True):
    """The result of a review before saving: an error, a conflict with another change, or the effect."""

    problem: Problem | None = None
    stored: CostTag | None = None
    effect: CostTagEffect | None = None
    draft: CostTagDraft | None = None
    version: int | None = None

    @property
    def digest(self) -> str:
        return _digest(self.draft, self.version) if self.draft else ""


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: AccountRequest) -> HttpResponseBase:
    """The page of a new cost tag, empty or from the suggested tag keys (`?copy=env&copy=Env`)."""
    if request.method == "POST":
        return _handle_post(request, None)
    starts = tag_starts(request.account)
    copied_keys = request.GET.getlist("copy")
    draft = next(
        (start.draft for start in starts if copied_keys and set(copied_keys) == set(start.keys)), None
    )
    form = CostTagForm.of(draft or CostTagDraft(key=""))
    return editor_page(request, form, None, starts=[] if draft else starts)


@account_page(Role.MEMBER)
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: AccountRequest, cost_tag_id: int) -> HttpResponseBase:
    cost_tag = get_object_or_404(CostTag.objects.select_related("account"), pk=cost_tag_id)
    if request.method == "POST":
        return _handle_post(request, cost_tag)
    return editor_page(request, CostTagForm.of(draft_of(cost_tag), version=cost_tag.version), cost_tag)


@account_page(Role.MEMBER)
@require_POST
def preview_rules(request: AccountRequest) -> HttpResponse:
    """Preview the rules of the form in their current state. Unfinished rules say what is missing."""
    form = CostTagForm({**request.POST.dict(), "key": request.POST.get("key") or "(new)"})
    context: dict[str, Any] = {}
    try:
        if not form.is_valid():
            raise UserError(" ".join(map(str, next(iter(form.errors.values())))))
        draft = form.draft()
        result = preview(request.account, draft)
        context = {
            "preview": result,
            "totals": sorted(result.totals, key=lambda total: -total.amount),
            "rules": list(zip(result.rules, draft.rules, strict=True)),
        }
    except UserError as problem:
        context["waiting"] = _pending_text(problem) or problem.message
    return render(request, "allocation/_cost_tag_preview.html", context)


def _handle_post(request: AccountRequest, cost_tag: CostTag | None) -> HttpResponseBase:
    """Save if the submitted rules are the reviewed ones; otherwise show the effect of saving."""
    form = CostTagForm(request.POST).keep_key(cost_tag)
    review = _review(request, form, cost_tag)
    if review.effect and request.POST.get("save") and request.POST.get("reviewed") == review.digest:
        saved = _save(request, review, cost_tag)
        if isinstance(saved, CostTag):
            return _redirect_to_cost_tag(request, saved)
        review = saved
    if request.htmx:
        status = 422 if review.problem else 200
        return render(request, "allocation/_cost_tag_review.html", review_context(review), status=status)
    return editor_page(request, form, cost_tag, review=review)


def _review(request: AccountRequest, form: CostTagForm, cost_tag: CostTag | None) -> SaveReview:
    if not form.is_valid():
        name, errors = next(iter(form.errors.items()))
        return SaveReview(problem=Problem(" ".join(map(str, errors)), json.dumps([name])))
    version = form.cleaned_data["version"]
    if cost_tag is not None and version != cost_tag.version:
        if request.POST.get("rebase") != str(cost_tag.version):
            return SaveReview(stored=cost_tag)
        version = cost_tag.version
    try:
        draft = form.draft()
        return SaveReview(effect=effect(request.account, cost_tag, draft), draft=draft, version=version)
    except UserError as problem:
        return SaveReview(problem=problem_of(problem))


def _save(request: AccountRequest, review: SaveReview, cost_tag: CostTag | None) -> CostTag | SaveReview:
    draft = review.draft
    assert draft is not None  # noqa: S101 a review with an effect has one
    fields: dict[str, Any] = {
        "rules": draft.rules,
        "default_value": draft.default_value,
        "description": draft.description,
    }
    try:
        if cost_tag is None:
            return create_cost_tag(account=request.account, actor=request.actor, key=draft.key, **fields)
        return save_cost_tag(cost_tag=cost_tag, actor=request.actor, version=review.version or 0, **fields)
    except UserError as problem:
        if problem.field == "version":
            return SaveReview(stored=CostTag.objects.get(pk=cost_tag.pk) if cost_tag else None)
        return SaveReview(problem=problem_of(problem))
    except ValidationError as error:
        field = next(iter(getattr(error, "error_dict", {})), NON_FIELD_ERRORS)
        path = ["key" if field == NON_FIELD_ERRORS else field]
        return SaveReview(problem=Problem(" ".join(error.messages), json.dumps(path)))


def _redirect_to_cost_tag(request: AccountRequest, cost_tag: CostTag) -> HttpResponseBase:
    count = len(cost_tag.rules)
    messages.success(
        request,
        f"Cost tag {cost_tag.key} saved with {count} rule{('' if count == 1 else 's')}.",
    )
    url = reverse("cost_tag", args=[request.account.slug, cost_tag.pk])
    return HttpResponseClientRedirect(url) if request.htmx else redirect(url)


# The page's words for each field of the document that is still empty.
_NEEDED = {"values": "a value to match", "keys": "a tag key to copy"}


def _pending_text(error: UserError) -> str:
    """Return what a rule still needs, in the page's words; empty when its field has a value that is wrong."""
    if not isinstance(error, RuleError) or not error.path:
        return ""
    needed = _NEEDED.get(str(error.path[-1]))
    return f"Rule {error.rule} still needs {needed}." if needed and error.rule else ""


def problem_of(error: UserError) -> Problem:
    if isinstance(error, RuleError):
        unfinished = _pending_text(error)
        short = "Type one, then press Enter." if unfinished else capfirst(error.problem)
        return Problem(unfinished or error.message, json.dumps(error.path), short)
    return Problem(error.message, json.dumps([error.field] if error.field else []), error.message)


def _digest(draft: CostTagDraft, version: int | None) -> str:
    return hashlib.sha256(json.dumps([write_draft(draft), version]).encode()).hexdigest()


def review_context(review: SaveReview) -> dict[str, Any]:
    context: dict[str, Any] = {"review": review}
    if review.effect:
        closed = {row.month for row in review.effect.months if row.is_closed and row.changed_lines}
        context |= {"effect": review.effect, "tables": effect_tables(review.effect), "closed": sorted(closed)}
    if review.stored:
        context["their_rules"] = [(rule.name, rule_words(rule)) for rule in read_rules(review.stored.rules)]
    return context


def editor_page(
    request: AccountRequest,
    form: CostTagForm,
    cost_tag: CostTag | None,
    *,
    review: SaveReview | None = None,
    starts: list[TagStart] | None = None,
    imported: bool = False,
    suggestion: str = "",
) -> HttpResponse:
    """Render the editor with the rules of the form and the result of a review. `suggestion`: why rules are filled in."""
    slug = request.account.slug
    keys = lake_queries.tag_keys(request.account)
    context = {
        "title": f"Cost tag {cost_tag.key}" if cost_tag else "New cost tag",
        "form": form.keep_key(cost_tag),
        "cost_tag": cost_tag,
        "starts": starts,
        "save_url": reverse("cost_tag_edit", args=[slug, cost_tag.pk])
        if cost_tag
        else reverse("cost_tag_new", args=[slug]),
        "preview_url": reverse("cost_tag_preview", args=[slug]),
        "values_url": reverse("dimension_values", args=[slug]),
        "dimensions": _dimensions(keys, cost_tag),
        "tag_keys": keys,
        "ops": OPS,
        "normalisations": NORMALISATIONS.items(),
        "reviewed": review is not None,
        "imported": imported,
        "suggestion": suggestion,
    }
    status = 422 if review and review.problem else 200
    return render(
        request,
        "allocation/cost_tag_edit.html",
        context | (review_context(review) if review else {}),
        status=status,
    )


def _dimensions(keys: CostKeys, cost_tag: CostTag | None) -> DimensionChoices:
    """Return every dimension except the cost tag itself, which cannot use its own values."""
    choices = dimension_choices(registry.kinds(), keys, [])
    own = f"{PREFIX}{cost_tag.key}" if cost_tag else ""
    return dataclasses.replace(choices, tags=[(name, title) for name, title in choices.tags if name != own])
