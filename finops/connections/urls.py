"""Pages of connections beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.connections.views import (
    column_mappings,
    connections,
    cost_keys,
    push_openapi,
    sources,
    syncs,
    wizard,
)

_PULL = "connections/usage/<int:pulled_source_id>"
"""A usage source with a connection; its other pages are in `ingestion`."""

_EVENT_PULL = "connections/events/<int:pulled_event_source_id>"
"""An event source with a connection; its other pages are in `finops.change_events`."""

urlpatterns = [
    path("connections/", connections.index, name="connections"),
    path("connections/overlaps/dismiss/", connections.dismiss_overlap, name="overlap_dismiss"),
    path("connections/new/", wizard.new, name="connection_new"),
    path("connections/new/push/", cost_keys.new, name="cost_push_new"),
    path("connections/api/", push_openapi.api, name="cost_api"),
    path("connections/new/test/", wizard.test, name="connection_test"),
    path("connections/syncs/<int:sync_id>/", syncs.sync, name="cost_sync"),
    path("connections/syncs/<int:sync_id>/cancel/", syncs.cancel, name="cost_sync_cancel"),
    path("connections/<int:source_id>/", sources.source, name="connection"),
    path("connections/<int:source_id>/rename/", sources.rename, name="connection_rename"),
    path("connections/<int:source_id>/settle-days/", sources.settle_days, name="connection_settle_days"),
    path("connections/<int:source_id>/delete/", sources.delete, name="connection_delete"),
    path("connections/<int:source_id>/mapping/", column_mappings.edit, name="column_mapping"),
    path(
        "connections/<int:source_id>/mapping/preview/", column_mappings.preview, name="column_mapping_preview"
    ),
    path("connections/<int:source_id>/mapping/sample/", column_mappings.sample, name="column_mapping_sample"),
    path(
        "connections/<int:synced_source_id>/mapping/newest/",
        column_mappings.newest,
        name="column_mapping_newest",
    ),
    path("connections/<int:source_id>/mapping/remove/", column_mappings.remove, name="column_mapping_remove"),
    path("connections/<int:source_id>/key/generate/", cost_keys.generate, name="cost_key_generate"),
    path("connections/<int:source_id>/key/regenerate/", cost_keys.regenerate, name="cost_key_regenerate"),
    path("connections/<int:source_id>/key/revoke/", cost_keys.revoke, name="cost_key_revoke"),
    path("connections/<int:synced_source_id>/edit/", wizard.edit, name="connection_edit"),
    path("connections/<int:synced_source_id>/edit/test/", wizard.edit_test, name="connection_edit_test"),
    path("connections/<int:synced_source_id>/syncs/", syncs.index, name="cost_syncs"),
    path("connections/<int:synced_source_id>/sync/", syncs.start, name="connection_sync"),
    path("connections/<int:synced_source_id>/pause/", syncs.pause, name="connection_pause"),
    path("connections/<int:synced_source_id>/resume/", syncs.resume, name="connection_resume"),
    path(f"{_PULL}/edit/", wizard.edit, name="pull_edit"),
    path(f"{_PULL}/edit/test/", wizard.edit_test, name="pull_edit_test"),
    path(f"{_PULL}/syncs/", syncs.index, name="pull_syncs"),
    path(f"{_PULL}/sync/", syncs.start, name="pull_sync"),
    path(f"{_PULL}/pause/", syncs.pause, name="pull_pause"),
    path(f"{_PULL}/resume/", syncs.resume, name="pull_resume"),
    path(f"{_EVENT_PULL}/edit/", wizard.edit, name="event_pull_edit"),
    path(f"{_EVENT_PULL}/edit/test/", wizard.edit_test, name="event_pull_edit_test"),
    path(f"{_EVENT_PULL}/syncs/", syncs.index, name="event_pull_syncs"),
    path(f"{_EVENT_PULL}/sync/", syncs.start, name="event_pull_sync"),
    path(f"{_EVENT_PULL}/pause/", syncs.pause, name="event_pull_pause"),
    path(f"{_EVENT_PULL}/resume/", syncs.resume, name="event_pull_resume"),
]
