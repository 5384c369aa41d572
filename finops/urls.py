from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path

from accounts.sso.urls import account_urlpatterns as sso_account_urlpatterns
from accounts.sso.urls import own_urlpatterns as sso_own_urlpatterns
from accounts.urls import account_urlpatterns, own_urlpatterns
from finops import health, views
from finops.alerts.urls import recipient_urlpatterns
from finops.help.urls import public_urlpatterns as document_urlpatterns
from finops.notifications.urls import personal_urlpatterns
from finops.telemetry.views import metrics_page

account_pages: list[URLPattern | URLResolver] = [
    path("", include("finops.costs.urls")),
    path("", include("finops.connections.urls")),
    path("", include("finops.change_events.urls")),
    path("", include("finops.data_exports.urls")),
    path("connections/sample/", views.sample_data, name="connection_sample"),
    path("", include("finops.insights.urls")),
    path("", include("finops.unitcosts.urls")),
    path("", include("finops.ai_spend.urls")),
    path("", include("finops.allocation.urls")),
    path("", include("finops.budgets.urls")),
    path("", include("finops.alerts.urls")),
    path("", include("finops.issues.urls")),
    path("", include("finops.audit_webhooks.urls")),
    path("", include("finops.dashboards.urls")),
    path("", include("finops.reports.urls")),
    path("", include("ingestion.urls")),
    path("", include("finops.activity.urls")),
    path("", include("finops.exchange_rates.urls")),
    path("", include("finops.search.urls")),
    path("", include("finops.help.urls")),
    path("", include("mcpserver.rest.page_urls")),
    path("", include("mcpserver.receipts.page_urls")),
    path("", include("finops.cost_access.urls")),
    path("", include("finops.notifications.urls")),
    path("", include(sso_account_urlpatterns)),
    path("", include(account_urlpatterns)),
]

urlpatterns = [
    path("", include("finops.machine_endpoints")),
    path("", views.home, name="home"),
    path("favicon.ico", views.favicon, name="favicon"),
    path("", include(document_urlpatterns)),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("metrics", metrics_page, name="metrics"),
    path("auth/", include(sso_own_urlpatterns)),
    path("auth/", include(own_urlpatterns)),
    path("auth/", include("allauth.urls")),
    path("accounts/", include("accounts.urls")),
    path("accounts/<slug:slug>/notifications/", include(personal_urlpatterns)),
    path("alerts/", include(recipient_urlpatterns)),
    path("", include("finops.operations.urls")),
    path("a/<slug:slug>/", include(account_pages)),
]

handler400 = "finops.views.bad_request"
handler404 = "finops.views.missing_page"
handler429 = "finops.views.too_many_requests"  # allauth looks it up
handler500 = "finops.views.server_error"
