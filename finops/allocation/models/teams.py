"""Teams, their members, and the values of one dimension that each team owns."""

from __future__ import annotations

from django.db import models

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_in_account


class TeamKey(AccountModel):
    """The dimension of cost whose values teams own: `tag:<key>` or `cost_tag:<key>`."""

    account = models.OneToOneField("accounts.Account", on_delete=models.CASCADE, related_name="team_key")
    dimension = models.CharField(max_length=300)

    class Meta:
        constraints = [not_empty("dimension", name="team_key_names_a_dimension")]

    def __str__(self) -> str:
        return self.dimension


class Team(AccountModel):
    """A group of people that owns cost. A cost line has one team or none."""

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    description = models.CharField(max_length=500, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            unique_in_account(
                "name", name="team_name_unique", message="A team with this name already exists."
            ),
            not_empty("name", name="team_has_a_name", message="Enter a name."),
        ]

    def __str__(self) -> str:
        return self.name


class TeamMember(AccountModel):
    """A member of the account in a team. Deleted with the membership."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="members")
    membership = models.ForeignKey("accounts.Membership", on_delete=models.CASCADE, related_name="+")
    added_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "membership"],
                name="team_member_unique",
                violation_error_message="This person is already in the team.",
            )
        ]


class TeamValue(AccountModel):
    """A value of the team key that a team owns. Compared ignoring case, as filters are."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="values")
    value = models.CharField(max_length=255)

    class Meta:
        ordering = ["value"]
        constraints = [
            unique_in_account(
                "value", name="team_value_has_one_team", message="This value already belongs to a team."
            ),
            not_empty("value", name="team_value_is_not_empty", message="A value must not be empty."),
        ]

    def __str__(self) -> str:
        return self.value
