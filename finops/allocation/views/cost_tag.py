"""A cost tag: its cost over time by value, and its rules in words."""

from __future__ import annotations

from django.http import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.doors import AccountRequest, account_page
from finops.allocation.cost_tags.words import rule_words
from finops.allocation.models import CostTag
from finops.allocation.services.cost_tags import draft_of


@account_page()
@require_safe
def index(request: AccountRequest, cost_tag_id: int) -> HttpResponseBase:
    cost_tag = get_object_or_404(CostTag.objects.select_related("account"), pk=cost_tag_id)
    rules = [(rule.name, rule_words(rule)) for rule in draft_of(cost_tag).rules]
    return render(request, "allocation/cost_tag.html", {"cost_tag": cost_tag, "rules": rules})
