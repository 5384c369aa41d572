"""Pages of issue trackers and of the issues of savings beneath `/a/<slug>/`."""

from __future__ import annotations

from django.urls import path

from finops.issues.views import saving_issues, trackers

TRACKER = "issue-trackers/<int:tracker_id>/"
ISSUE = "saving-issues/<int:saving_issue_id>/"

urlpatterns = [
    path("issue-trackers/", trackers.index, name="issue_trackers"),
    path("issue-trackers/new/", trackers.new, name="issue_tracker_new"),
    path(TRACKER, trackers.page, name="issue_tracker"),
    path(f"{TRACKER}edit/", trackers.edit, name="issue_tracker_edit"),
    path(f"{TRACKER}test/", trackers.test, name="issue_tracker_test"),
    path(f"{TRACKER}refresh/", trackers.refresh, name="issue_tracker_refresh"),
    path(f"{TRACKER}delete/", trackers.delete, name="issue_tracker_delete"),
    path("savings/<slug:saving_key>/issues/", saving_issues.panel, name="saving_issues"),
    path("savings/<slug:saving_key>/issues/create/", saving_issues.create, name="saving_issue_create"),
    path(f"{ISSUE}retry/", saving_issues.retry, name="saving_issue_retry"),
    path(f"{ISSUE}unlink/", saving_issues.unlink, name="saving_issue_unlink"),
]
