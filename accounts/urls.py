from __future__ import annotations

from django.urls import path

from accounts.views import accounts

urlpatterns = [path("new/", accounts.create, name="account_create")]
