"""Pages of allocation beneath `/a/<slug>/`: cost tags, teams, shared-cost splits."""

from __future__ import annotations

from django.urls import path

from finops.allocation.views import cost_tag, cost_tag_editor, cost_tag_import, cost_tags

urlpatterns = [
    path("cost-tags/", cost_tags.index, name="cost_tags"),
    path("cost-tags/new/", cost_tag_editor.new, name="cost_tag_new"),
    path("cost-tags/preview/", cost_tag_editor.preview_rules, name="cost_tag_preview"),
    path("cost-tags/import/", cost_tag_import.index, name="cost_tag_import"),
    path("cost-tags/<int:cost_tag_id>/", cost_tag.index, name="cost_tag"),
    path("cost-tags/<int:cost_tag_id>/edit/", cost_tag_editor.edit, name="cost_tag_edit"),
    path("cost-tags/<int:cost_tag_id>/yaml/", cost_tags.export, name="cost_tag_yaml"),
    path("cost-tags/<int:cost_tag_id>/delete/", cost_tags.delete, name="cost_tag_delete"),
]
