"""The admin console at /admin/, for the people who run the service. Others get the 404 of an unknown URL."""

from __future__ import annotations

import functools
from typing import Any, cast

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, include, path, re_path, reverse
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_POST, require_safe

from accounts.forms import ErrorMessages
from accounts.models import User
from accounts.scoping import account_scope
from accounts.security import visits
from accounts.security.reauthentication import reauthenticate_first
from finops.exports.models import AccountExport
from finops.exports.services import record_download
from finops.operations.actions import operator_actor
from finops.operations.assertion_clients import assertion_client_urls
from finops.operations.catalog import GROUPS, entries
from finops.operations.certificates import certificates
from finops.operations.charts import RANGES, activity_charts
from finops.operations.entry import ModelGroup
from finops.operations.identity_providers import identity_provider_urls
from finops.operations.links import list_href, row_href
from finops.operations.model_pages import ModelPages
from finops.operations.queries import STATEMENT_SECONDS, service_status
from finops.operations.tiles import tiles


class OperatorSite(admin.AdminSite):
    """Django's admin with pages of our own: no forms, no deletion, no second sign-in."""

    site_title = site_header = "Admin console"
    index_title = "Status"
    enable_nav_sidebar = False

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_staff)

    def may_act(self, request: HttpRequest) -> bool:
        """Whether the operator may do more than view."""
        return self.has_permission(request) and bool(getattr(request.user, "is_superuser", False))

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Check access. Signed out: redirect to sign-in, which requires the second factor. Not an operator: 404, as for an
        unknown URL."""

        @functools.wraps(view)
        def operator_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_login(request.get_full_path())
            if not self.has_permission(request):
                raise Http404("no operator")
            answer: HttpResponseBase = view(request, *args, **kwargs)
            return answer

        operator_view.is_operator_page = True  # type: ignore[attr-defined]
        return csrf_protect(operator_view)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        urls: list[URLPattern | URLResolver] = [
            path("", self.admin_view(self.index), name="index"),
            path("visits/end/", self.admin_view(self.end_visits_view), name="end_visits"),
            path("charts/", self.admin_view(self.charts_view), name="charts"),
            path("certificates/", self.admin_view(self.certificates_view), name="certificates"),
            path("exports/<int:export_id>/", self.admin_view(self.export_view), name="export_download"),
            path("groups/<slug:slug>/", self.admin_view(self.group_view), name="group"),
            *identity_provider_urls(self),
            *assertion_client_urls(self),
        ]
        for model, pages in self._registry.items():
            prefix = f"{model._meta.app_label}/{model._meta.model_name}/"
            urls.append(path(prefix, include(pages.get_urls())))
        return [*urls, re_path(r"(?P<url>.*)$", self.admin_view(self.unknown_view))]

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        return {"groups": GROUPS, "may_act": self.may_act(request)}

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        status = service_status()
        name = request.GET.get("range", "24h")
        own = {
            "title": self.index_title,
            "is_status": True,
            "status": status,
            "tiles": tiles(status),
            "charts_href": f"{reverse('admin:charts')}?range={name if name in RANGES else '24h'}",
        }
        context = {**self.each_context(request), **own}
        return TemplateResponse(request, "operations/status.html", context)

    def end_visits_view(self, request: HttpRequest) -> HttpResponseBase:
        return require_POST(self._end_visits)(request)

    def _end_visits(self, request: HttpRequest) -> HttpResponse:
        visits.end(request)
        return redirect("admin:accounts_account_changelist")

    def charts_view(self, request: HttpRequest) -> HttpResponseBase:
        return require_safe(self._charts)(request)

    def _charts(self, request: HttpRequest) -> HttpResponse:
        chart_range = RANGES.get(request.GET.get("range", ""), RANGES["24h"])
        context: dict[str, Any] = {"ranges": RANGES.values(), "chart_range": chart_range}
        try:
            context["charts"] = activity_charts(chart_range)
        except OperationalError:
            context["problem"] = f"There are too many rows to count within {STATEMENT_SECONDS} seconds."
        return TemplateResponse(request, "operations/_charts.html", context)

    def certificates_view(self, request: HttpRequest) -> HttpResponseBase:
        return require_safe(self._certificates)(request)

    def _certificates(self, request: HttpRequest) -> HttpResponse:
        return TemplateResponse(request, "operations/_certificates.html", {"certificates": certificates()})

    def export_view(self, request: HttpRequest, export_id: int) -> HttpResponseBase:
        return require_POST(self._export)(request, export_id)

    def _export(self, request: HttpRequest, export_id: int) -> HttpResponseBase:
        if not self.may_act(request):
            raise PermissionDenied("This requires an operator who may act. You can view only.")
        reauthenticate_first(request)
        # Unscoped: operators serve every account.
        export = get_object_or_404(AccountExport.objects.unscoped().select_related("account"), pk=export_id)
        with ErrorMessages(request), account_scope(export.account):
            actor = operator_actor(cast(User, request.user))
            path = record_download(export=export, actor=actor)
            name = f"{export.account.slug}-{export.created_at:%Y-%m-%d}.zip"
            return FileResponse(path.open("rb"), as_attachment=True, filename=name)
        return redirect(row_href(export))

    def group_view(self, request: HttpRequest, slug: str) -> HttpResponseBase:
        return require_safe(self._group)(request, slug)

    def unknown_view(self, request: HttpRequest, url: str) -> HttpResponse:
        """Raises Http404."""
        raise Http404("no such page of the admin console")

    def _group(self, request: HttpRequest, slug: str) -> HttpResponse:
        group = _group_or_404(slug)
        links = [(entry.label, list_href(entry.model)) for entry in group.entries]
        context = {**self.each_context(request), "title": group.label, "group": group, "links": links}
        return TemplateResponse(request, "operations/group.html", context)


def _group_or_404(slug: str) -> ModelGroup:
    group = next((group for group in GROUPS if group.slug == slug), None)
    if group is None:
        raise Http404("no such group")
    return group


site = OperatorSite(name="admin")


def register_models() -> None:
    """Register a list and row pages for every entry of the catalog. Called once, when the URLs are read: all models exist
    by then."""
    for entry in entries():
        pages = type(f"{entry.model.__name__}Pages", (ModelPages,), {"entry": entry})
        site.register(entry.model, pages)
