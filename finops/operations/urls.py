from __future__ import annotations

from django.urls import URLPattern, URLResolver, path
from django.views.generic import RedirectView

from finops.operations.row_actions import register_actions
from finops.operations.site import register_models, site

register_models()
register_actions()

urlpatterns: list[URLPattern | URLResolver] = [
    path("admin/", site.urls),
    # Where the console was until ADR 0053.
    path("operators/", RedirectView.as_view(url="/admin/", permanent=True), name="admin_moved"),
    path(
        "operators/<path:rest>",
        RedirectView.as_view(url="/admin/%(rest)s", permanent=True, query_string=True),
        name="admin_page_moved",
    ),
]
