"""Clients of the trackers' APIs, one module for each kind."""

from __future__ import annotations

from finops.issues.models import IssueTracker
from finops.issues.tracker_configs import GitHubConfig, JiraConfig, config_of, secret_of
from finops.issues.vendors.client import TrackerError, TrackerRefusal, TrackerUnavailable
from finops.issues.vendors.github import GitHubClient
from finops.issues.vendors.jira import JiraClient
from finops.issues.vendors.linear import LinearClient
from finops.issues.vendors.remote import RemoteIssue, TrackerChanges, TrackerClient, TrackerFinding


def client_of(tracker: IssueTracker) -> TrackerClient:
    """Return the tracker's client. Raises sealing.Unsealable when the credential can no longer be read."""
    config, secret = config_of(tracker), secret_of(tracker)
    if isinstance(config, GitHubConfig):
        return GitHubClient(config, secret)
    return JiraClient(config, secret) if isinstance(config, JiraConfig) else LinearClient(config, secret)


__all__ = [
    "RemoteIssue",
    "TrackerChanges",
    "TrackerClient",
    "TrackerError",
    "TrackerFinding",
    "TrackerRefusal",
    "TrackerUnavailable",
    "client_of",
]
