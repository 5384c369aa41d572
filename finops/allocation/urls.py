"""Pages of allocation beneath `/a/<slug>/`: cost tags, teams, shared-cost splits."""

from __future__ import annotations

from django.urls import path

from finops.allocation.views import (
    cost_tag,
    cost_tag_editor,
    cost_tag_import,
    cost_tags,
    split,
    split_editor,
    splits,
    team,
    teams,
)

urlpatterns = [
    path("cost-tags/", cost_tags.index, name="cost_tags"),
    path("cost-tags/new/", cost_tag_editor.new, name="cost_tag_new"),
    path("cost-tags/preview/", cost_tag_editor.preview_rules, name="cost_tag_preview"),
    path("cost-tags/import/", cost_tag_import.index, name="cost_tag_import"),
    path("cost-tags/<int:cost_tag_id>/", cost_tag.index, name="cost_tag"),
    path("cost-tags/<int:cost_tag_id>/edit/", cost_tag_editor.edit, name="cost_tag_edit"),
    path("cost-tags/<int:cost_tag_id>/yaml/", cost_tags.export, name="cost_tag_yaml"),
    path("cost-tags/<int:cost_tag_id>/delete/", cost_tags.delete, name="cost_tag_delete"),
    path("shared-costs/", splits.index, name="splits"),
    path("shared-costs/new/", split_editor.new, name="split_new"),
    path("shared-costs/preview/", split_editor.preview, name="split_preview"),
    path("shared-costs/<int:split_id>/", split.index, name="split"),
    path("shared-costs/<int:split_id>/edit/", split_editor.edit, name="split_edit"),
    path("shared-costs/<int:split_id>/delete/", splits.delete, name="split_delete"),
    path("teams/", teams.index, name="teams"),
    path("teams/new/", teams.new, name="team_new"),
    path("teams/key/", teams.key, name="team_key"),
    path("teams/assign/", teams.assign, name="team_assign"),
    path("teams/<int:team_id>/", team.index, name="team"),
    path("teams/<int:team_id>/edit/", team.edit, name="team_edit"),
    path("teams/<int:team_id>/delete/", team.delete, name="team_delete"),
    path("teams/<int:team_id>/members/", team.add_member, name="team_member_add"),
    path("teams/members/<int:team_member_id>/remove/", team.remove_member, name="team_member_remove"),
    path("teams/values/<int:team_value_id>/release/", team.release, name="team_value_release"),
]
