from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from finops import health, home

account_pages: list[URLPattern | URLResolver] = [
    path("", include("finops.costs.urls")),
    path("", include("accounts.account_urls")),
]

urlpatterns = [
    path("", include("mcpserver.urls")),
    path("", home.home, name="home"),
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("auth/", include("allauth.urls")),
    path("accounts/", include("accounts.urls")),
    path("operators/", admin.site.urls),
    path("a/<slug:slug>/", include(account_pages)),
]

handler400 = "finops.errors.bad_request"
