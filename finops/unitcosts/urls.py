"""Pages of unit cost beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.unitcosts.views import customer_key, economics

urlpatterns = [
    path("unit-economics/", economics.index, name="unit_economics"),
    path("settings/customers/", customer_key.index, name="customer_key"),
    path("settings/customers/key/", customer_key.choose, name="customer_key_choose"),
    path("settings/customers/aliases/", customer_key.add_alias, name="customer_alias_add"),
    path(
        "settings/customers/aliases/<int:alias_id>/remove/",
        customer_key.remove_alias,
        name="customer_alias_remove",
    ),
]
