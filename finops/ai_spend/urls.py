"""URLs of AI spend under `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.ai_spend.views import ai_spend, prices

urlpatterns = [
    path("ai-spend/", ai_spend.index, name="ai_spend"),
    path("ai-prices/", prices.index, name="ai_prices"),
    path("ai-prices/new/", prices.new, name="ai_price_new"),
    path("ai-prices/upload/", prices.upload, name="ai_price_upload"),
    path("ai-prices/<int:price_id>/delete/", prices.delete, name="ai_price_delete"),
]
