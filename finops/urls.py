from __future__ import annotations

from django.contrib import admin
from django.urls import URLPattern, URLResolver, include, path

from finops import home

account_pages: list[URLPattern | URLResolver] = []

urlpatterns = [
    path("", home.home, name="home"),
    path("auth/", include("allauth.urls")),
    path("operators/", admin.site.urls),
    path("a/<slug:slug>/", include(account_pages)),
]
