"""URLs of change events under `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.change_events.views import api_page, events, notes, sources

_SOURCE = "connections/events/<int:event_source_id>"

urlpatterns = [
    # A URL with the page's title; `reverse` uses the one below, because it comes last.
    path("change-events/", events.index, name="change_events"),
    path("events/", events.index, name="change_events"),
    path("events/retention/", events.retention, name="change_event_retention"),
    path("events/notes/new/", notes.new, name="change_event_note_new"),
    path("events/notes/<int:note_id>/edit/", notes.edit, name="change_event_note_edit"),
    path("events/notes/<int:note_id>/delete/", notes.delete, name="change_event_note_delete"),
    path("connections/events/", sources.index, name="event_sources"),
    path("connections/events/new/", sources.new, name="event_source_new"),
    path("connections/events/api/", api_page.api, name="event_api"),
    path(f"{_SOURCE}/", sources.source, name="event_source"),
    path(f"{_SOURCE}/rename/", sources.rename, name="event_source_rename"),
    path(f"{_SOURCE}/delete/", sources.delete, name="event_source_delete"),
    path(f"{_SOURCE}/key/generate/", sources.generate_key, name="event_key_generate"),
    path(f"{_SOURCE}/key/regenerate/", sources.regenerate_key, name="event_key_regenerate"),
    path(f"{_SOURCE}/key/revoke/", sources.revoke_key, name="event_key_revoke"),
]
