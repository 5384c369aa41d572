"""Texts of the pages about each kind of tracker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class TrackerKindInfo:
    """A kind of tracker. `steps`: where a person finds the values of the form, in the other product's own words."""

    name: str
    label: str
    icon: str
    about: str
    placeholder: str
    steps: tuple[str, ...]
    docs: str


_INFOS: Final = (
    TrackerKindInfo(
        "github",
        "GitHub",
        "brand-github",
        "Issues of a repository, on github.com or GitHub Enterprise.",
        "Infrastructure",
        (
            "In GitHub, open Settings, Developer settings, Fine-grained tokens, and choose Generate new token.",
            "Resource owner: the repository's. Repository access: Only select repositories, this one.",
            "Repository permissions: Issues, Read and write. Metadata: Read-only is added automatically. No other permission is needed.",
            "Generate the token and copy it. A bot's own account keeps working when people leave.",
        ),
        "https://docs.github.com/authentication/keeping-your-account-and-data-secure/managing-your-personal-access-tokens",
    ),
    TrackerKindInfo(
        "jira",
        "Jira",
        "brand-jira",
        "Work items of a Jira Cloud project.",
        "Cloud operations",
        (
            "Choose who creates the issues: a person or bot with the project permissions Browse projects and Create issues.",
            "As that person, open id.atlassian.com, Security, API tokens, and choose Create API token (the one without scopes).",
            "Copy the token, and enter that person's email address.",
            "The project key is what its issues begin with: OPS of OPS-12.",
        ),
        "https://support.atlassian.com/atlassian-account/docs/manage-api-tokens-for-your-atlassian-account/",
    ),
    TrackerKindInfo(
        "linear",
        "Linear",
        "list-check",
        "Issues of a team.",
        "Platform",
        (
            "In Linear, open Settings, Security & access, and choose New API key.",
            "Permissions: Only select permissions, Read and Create issues.",
            "Team access: Only select teams, this one. Create the key and copy it.",
            "The team key is what its issues begin with: ENG of ENG-12.",
        ),
        "https://linear.app/docs/api-and-webhooks",
    ),
)

TRACKER_KINDS: Final = {each.name: each for each in _INFOS}
