"""Pages of exchange rates beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.exchange_rates import views

urlpatterns = [
    path("exchange-rates/", views.index, name="exchange_rates"),
    path("exchange-rates/used/", views.daily_rates, name="exchange_rates_used"),
    path("exchange-rates/new/", views.new, name="exchange_rate_new"),
    path("exchange-rates/upload/", views.upload, name="exchange_rate_upload"),
    path("exchange-rates/<int:rate_id>/delete/", views.delete, name="exchange_rate_delete"),
]
