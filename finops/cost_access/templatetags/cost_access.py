"""Template tags for limited cost access: the reader's own limit and those of others."""

from __future__ import annotations

from typing import Any

from django import template

from accounts.models import Role
from finops.cost_access.models import CostAccessLimit
from finops.cost_access.pages import limit_of_page, limit_sentence
from finops.cost_access.queries import limits, limits_by_reader
from finops.cost_access.readers import Reader

register = template.Library()


@register.simple_tag(takes_context=True)
def cost_access_limit(context: template.Context) -> str:
    """The name of the reader's limit; empty without one. No query."""
    request = context.get("request")
    return limit_of_page(request) if request is not None else ""


@register.simple_tag(takes_context=True)
def cost_access_sentence(context: template.Context) -> str:
    """The first sentence of a page for a limited reader; empty without a limit. No query."""
    request = context.get("request")
    return limit_sentence(request) if request is not None else ""


@register.simple_tag(takes_context=True)
def can_open(context: template.Context, url_name: str) -> bool:
    """Whether the reader's cost access includes the page of this URL name. No query."""
    reachable = getattr(context.get("request"), "reachable_pages", None)
    return reachable is None or url_name in reachable


@register.inclusion_tag("cost_access/_reader_form.html", takes_context=True)
def cost_access_form(context: template.Context, reader: Reader) -> dict[str, Any]:
    """The form to choose another limit for a member, key or app. One query a page, for the limits."""
    request = context["request"]
    rows = context.get("limits")
    return {
        "reader": reader,
        "limits": limits(request.account) if rows is None else rows,
        "slug": request.account.slug,
        "next": request.get_full_path(),
        "csrf_token": context["csrf_token"],
    }


@register.inclusion_tag("cost_access/_note.html", takes_context=True)
def cost_access_note(context: template.Context, kind: str, pk: int, search: str = "") -> dict[str, Any]:
    """The limit of a row in a list of members, invitations or keys; `search` links to it among the readers, if there
    are limits to choose from. Two queries a page."""
    limits = _limits(context).get((kind, pk), [])
    may_change = bool(search and context["request"].membership.may(Role.ADMIN) and _choices(context))
    names = " and ".join(limit.name for limit in limits)
    return {"limit_name": names, "slug": context["account"].slug, "search": search if may_change else ""}


@register.inclusion_tag("cost_access/_app_form.html", takes_context=True)
def cost_access_of_app(context: template.Context, app: Any) -> dict[str, Any]:
    """The limit of a connected app, and the form to choose another: an admin changes any app, others limit an own app
    without a limit. Two queries a page."""
    request = context["request"]
    app_limits = _limits(context).get(("connection", app.id), [])
    is_admin = request.membership.may(Role.ADMIN)
    # The names of other limits are no matter of a limited reader.
    is_own = app.person_id == request.user.pk and not limit_of_page(request)
    may_choose = is_admin or (not app_limits and is_own)
    reader = Reader("app", app.id, app.title, "", tuple(app_limits))
    return {
        "limits": _choices(context) if may_choose else [],
        "reader": reader,
        "slug": context["account"].slug,
        "next": request.get_full_path(),
        "csrf_token": context["csrf_token"],
    }


def _limits(context: template.Context) -> dict[tuple[str, int], list[CostAccessLimit]]:
    request = context["request"]
    if not hasattr(request, "limits_by_reader"):
        request.limits_by_reader = limits_by_reader(request.account)
    rows: dict[tuple[str, int], list[CostAccessLimit]] = request.limits_by_reader
    return rows


def _choices(context: template.Context) -> list[CostAccessLimit]:
    request = context["request"]
    if not hasattr(request, "cost_access_limits"):
        request.cost_access_limits = list(limits(request.account))
    rows: list[CostAccessLimit] = request.cost_access_limits
    return rows
