"""Pages of data exports beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.data_exports.views import exports, wizard

_EXPORT = "connections/exports/<int:data_export_id>"

urlpatterns = [
    path("connections/exports/", exports.index, name="data_exports"),
    path("connections/exports/new/", wizard.new, name="data_export_new"),
    path("connections/exports/new/test/", wizard.test, name="data_export_test"),
    path(f"{_EXPORT}/", exports.export, name="data_export"),
    path(f"{_EXPORT}/edit/", wizard.edit, name="data_export_edit"),
    path(f"{_EXPORT}/edit/test/", wizard.edit_test, name="data_export_edit_test"),
    path(f"{_EXPORT}/run/", exports.run, name="data_export_run"),
    path("connections/exports/runs/<int:run_id>/cancel/", exports.cancel, name="data_export_run_cancel"),
    path(f"{_EXPORT}/pause/", exports.pause, name="data_export_pause"),
    path(f"{_EXPORT}/resume/", exports.resume, name="data_export_resume"),
    path(f"{_EXPORT}/delete/", exports.delete, name="data_export_delete"),
]
