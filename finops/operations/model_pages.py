"""The pages of a model in the console: its list, and a page for each row. They are read-only; actions go through services."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import OperationalError, models
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_safe

from accounts.forms import ErrorMessages, FormErrors
from accounts.models import User
from accounts.security.reauthentication import reauthenticate_first
from finops.lib.listing import wants_csv
from finops.operations.actions import RowAction, offered_actions, run_action
from finops.operations.catalog import GROUPS, group_of
from finops.operations.entry import Entry, ModelGroup
from finops.operations.identity_providers import create_links
from finops.operations.links import list_href, row_href
from finops.operations.model_list import (
    BoundedPaginator,
    default_columns,
    field_label,
    field_text,
    list_page,
    listing,
    of_relation,
)
from finops.operations.panels import lower_panel_of, panel_of
from finops.operations.queries import STATEMENT_SECONDS, statement_limit
from finops.operations.rows import Field, Row, all_rows, has_secret_key, plain_fields, row_name
from finops.templatetags.components import cell_html

if TYPE_CHECKING:
    from finops.operations.site import OperatorSite

    ModelAdmin = admin.ModelAdmin[Any]
else:
    ModelAdmin = admin.ModelAdmin


@dataclasses.dataclass(frozen=True)
class FieldValue:
    """A field of a row's page; `href` is the page of a referenced row, `pre` marks preformatted text."""

    label: str
    text: str = ""
    href: str = ""
    pre: str = ""


@dataclasses.dataclass(frozen=True)
class RelatedList:
    """A list of rows that refer to the row of this page."""

    label: str
    href: str


class OperatorRoles(ModelAdmin):
    """Permissions on every page of every model: staff may view, and superusers act, through services only."""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.admin_site.has_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class ModelPages(OperatorRoles):
    """The pages of a catalog entry."""

    entry: Entry
    actions = None
    show_full_result_count = False

    @property
    def columns(self) -> Sequence[str]:
        """The columns. The first links to the row's page: the row's number if its name is another row's."""
        names = self.entry.columns or default_columns(self.model)
        key = self.opts.pk
        is_named_by_another = self.opts.get_field(names[0]).is_relation and not has_secret_key(self.model)
        return (key.name, *names) if is_named_by_another and key.name != names[0] else names

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        account = ["account__name", "account__slug"] if _has_account(self.model) else []
        return [*self.entry.search, *account]

    def get_queryset(self, request: HttpRequest) -> models.QuerySet[Any]:
        return all_rows(self.model)

    def get_urls(self) -> list[URLPattern]:
        """Return URLs of the list and of a page for each row; there are no forms to add, change or delete. `/change/` is
        where Django has it."""
        name = f"{self.opts.app_label}_{self.opts.model_name}"
        urls = [path("", self.admin_site.admin_view(self.list_view), name=f"{name}_changelist")]
        if not has_secret_key(self.model):
            page = self.admin_site.admin_view(self.row_view)
            urls.append(path("<str:object_id>/change/", page, name=f"{name}_change"))
            action = self.admin_site.admin_view(self.action_view)
            urls.append(path("<str:object_id>/actions/<slug:action_name>/", action, name=f"{name}_action"))
        return urls

    def list_view(self, request: HttpRequest) -> HttpResponseBase:
        return require_safe(self._list)(request)

    def row_view(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        return require_safe(self._row)(request, object_id)

    def action_view(self, request: HttpRequest, object_id: str, action_name: str) -> HttpResponseBase:
        """Show the confirmation page, then run the action. Raises PermissionDenied for an operator who may only view."""
        if not site_of(self).may_act(request):
            raise PermissionDenied("This requires an operator who may act. You can view only.")
        row = self._existing(object_id)
        action = offered_actions(row).get(action_name)
        if action is None:
            raise Http404("no such action of this row")
        if request.method != "POST":
            form = action.form(row, None) if action.form is not None else None
            return self._confirmation(request, row, action, form)
        reauthenticate_first(request)
        form = action.form(row, request.POST) if action.form is not None else None
        if form is not None and not form.is_valid():
            return self._confirmation(request, row, action, form)
        with ErrorMessages(request) if form is None else FormErrors(form):
            values = None if form is None else form.cleaned_data
            outcome = run_action(row=row, action=action, operator=cast(User, request.user), values=values)
            if action.begin is not None:
                return redirect(action.begin(request, row))
            messages.success(request, outcome)
        if form is not None and form.errors:
            return self._confirmation(request, row, action, form)
        is_left = all_rows(self.model).filter(pk=object_id).exists()
        return redirect(row_href(row) if is_left else list_href(self.model))

    def _confirmation(
        self, request: HttpRequest, row: Row, action: RowAction, form: Form | None
    ) -> HttpResponse:
        context = {
            "title": f"{action.label}: {row_name(row)}",
            "action": action,
            "row": row,
            "form": form,
            "row_href": row_href(row),
        }
        try:
            with statement_limit():
                context["preview"] = action.preview(row) if action.preview is not None else []
        except OperationalError:
            messages.warning(request, f"There are too many rows to count within {STATEMENT_SECONDS} seconds.")
        page = self._page(request, "operations/action.html", context)
        page.status_code = 422 if form is not None and form.is_bound else 200
        return page

    def _list(self, request: HttpRequest) -> HttpResponseBase:
        relations = [name for name in self.columns if self.opts.get_field(name).is_relation]
        rows, related = of_relation(request, all_rows(self.model).select_related(*relations))
        text = request.GET.get("q", "").strip()
        if text and not self.get_search_fields(request):
            rows = rows.none()
        rows, _has_duplicates = self.get_search_results(request, rows, text)
        is_csv = wants_csv(request)
        declared = list_page(
            self.model, self.columns, self.entry.filters, self.entry.label, linked=not is_csv
        )
        try:
            with statement_limit():
                rows_listing = listing(declared, request, rows)
        except OperationalError:
            messages.error(
                request, f"The search took longer than {STATEMENT_SECONDS} seconds. Choose an account first."
            )
            rows_listing = listing(declared, request, rows.none())
        paginator = cast(BoundedPaginator, cast(Any, rows_listing.page).paginator)
        cut = paginator.count if paginator.is_cut else 0
        if is_csv:
            name = f"{declared.name} first {cut}" if cut else declared.name
            return dataclasses.replace(declared, name=name).csv(rows_listing.rows)
        context = {
            "title": self.entry.label,
            "listing": rows_listing,
            "related": related,
            "cut": cut,
            "create_links": create_links(self.model) if site_of(self).may_act(request) else [],
        }
        return self._page(request, "operations/list.html", context)

    def _row(self, request: HttpRequest, object_id: str) -> HttpResponse:
        row = self._existing(object_id)
        fields = [field for field in plain_fields(self.model) if field.name not in self.entry.in_panel]
        context = {
            "title": row_name(row),
            "row": row,
            "fields": [_field_value(row, field) for field in fields],
            "panel": panel_of(row),
            "lower_panel": lower_panel_of(row),
            "lists": related_lists(row),
            "row_actions": self._action_links(request, row),
        }
        return self._page(request, "operations/row.html", context)

    def _action_links(self, request: HttpRequest, row: Row) -> list[tuple[str, str, bool]]:
        """Return label, URL and danger of each action, destructive ones last."""
        if not site_of(self).may_act(request):
            return []
        page = f"admin:{self.opts.app_label}_{self.opts.model_name}_action"
        return [
            (action.label, reverse(page, args=[row.pk, name]), action.is_danger)
            for name, action in sorted(offered_actions(row).items(), key=lambda item: item[1].is_danger)
        ]

    def _existing(self, object_id: str) -> Row:
        """Return the row. Raises Http404 when there is none."""
        relations = [field.name for field in plain_fields(self.model) if field.is_relation]
        try:
            row: Row | None = all_rows(self.model).select_related(*relations).filter(pk=object_id).first()
        except (ValueError, ValidationError):
            row = None
        if row is None:
            raise Http404(f"no such {self.opts.verbose_name}")
        return row

    def _page(self, request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
        group = group_of(self.model)
        frame = {"group": group, "entry": self.entry, "list_href": list_href(self.model)}
        return TemplateResponse(
            request, template, {**self.admin_site.each_context(request), **frame, **context}
        )


def site_of(pages: OperatorRoles) -> OperatorSite:
    """Return the console's site, which has the permissions."""
    return cast("OperatorSite", pages.admin_site)


def _has_account(model: type[Row]) -> bool:
    return any(field.name == "account" and field.is_relation for field in model._meta.concrete_fields)


def related_lists(row: Row) -> list[tuple[str, list[RelatedList]]]:
    """Return links to the lists of rows that refer to this row, by group."""
    groups = [(group.label, list(_lists_of(group, row))) for group in GROUPS]
    return [(label, lists) for label, lists in groups if lists]


def _lists_of(group: ModelGroup, row: Row) -> Iterator[RelatedList]:
    plain = {"account", "user", type(row)._meta.model_name, type(row)._meta.verbose_name}
    for entry in group.entries:
        for field in entry.model._meta.concrete_fields:
            if isinstance(field, models.ForeignKey) and field.related_model is type(row):
                label = (
                    entry.label if field.name in plain else f"{entry.label} ({field_label(field).lower()})"
                )
                yield RelatedList(label, list_href(entry.model, **{field.name: row.pk}))


def _field_value(row: Row, field: Field) -> FieldValue:
    label, text = field_label(field), field_text(row, field)
    if isinstance(text, list) and text and all(isinstance(each, str | int) for each in text):
        return FieldValue(label, cell_html(", ".join(map(str, text))))
    if isinstance(field, models.JSONField):
        json_text = json.dumps(text, indent=2, ensure_ascii=False, default=str) if text else ""
        return FieldValue(label, cell_html(""), pre=json_text)
    if isinstance(text, str) and "\n" in text:
        return FieldValue(label, pre=text)
    target = getattr(row, field.name) if isinstance(field, models.ForeignKey) else None
    return FieldValue(label, cell_html(text), row_href(target) if target else "")
