"""Pages of budgets beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.budgets.views import budget, budget_form, budgets, forecast

urlpatterns = [
    path("forecast/", forecast.index, name="forecast"),
    path("budgets/", budgets.index, name="budgets"),
    path("budgets/at-risk/", budgets.at_risk, name="budgets_at_risk"),
    path("budgets/new/", budget_form.new, name="budget_new"),
    path("budgets/<int:budget_id>/", budget.page, name="budget"),
    path("budgets/<int:budget_id>/edit/", budget_form.edit, name="budget_edit"),
    path("budgets/<int:budget_id>/delete/", budget_form.delete, name="budget_delete"),
]
