"""Pages of unit cost beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.unitcosts.views import customer_key, economics, unit_metrics

urlpatterns = [
    path("unit-economics/", economics.index, name="unit_economics"),
    path("unit-economics/saved/", unit_metrics.index, name="unit_metrics"),
    path("unit-economics/saved/new/", unit_metrics.new, name="unit_metric_new"),
    path("unit-economics/saved/<int:unit_metric_id>/edit/", unit_metrics.edit, name="unit_metric_edit"),
    path("unit-economics/saved/<int:unit_metric_id>/delete/", unit_metrics.delete, name="unit_metric_delete"),
    path("settings/customers/", customer_key.index, name="customer_key"),
    path("settings/customers/key/", customer_key.choose, name="customer_key_choose"),
    path("settings/customers/aliases/", customer_key.add_alias, name="customer_alias_add"),
    path(
        "settings/customers/aliases/<int:alias_id>/remove/",
        customer_key.remove_alias,
        name="customer_alias_remove",
    ),
    path(
        "settings/customers/usage-dimensions/", customer_key.add_usage_dimension, name="usage_dimension_add"
    ),
    path(
        "settings/customers/usage-dimensions/<int:mapping_id>/remove/",
        customer_key.remove_usage_dimension,
        name="usage_dimension_remove",
    ),
]
