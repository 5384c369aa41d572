"""Dashboards: boards of widgets, shared with the account or of one person."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from accounts.scoping import AccountModel
from finops.lib import clock
from finops.lib.constraints import not_empty, unique_by_owner


class Dashboard(AccountModel):
    """A board. Shared if it has no owner, else visible to its owner only."""

    name = models.CharField(max_length=100, error_messages={"blank": "Enter a name."})
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = models.DateTimeField(default=clock.now, editable=False)
    changed_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        ordering = ["name"]
        constraints = [
            *unique_by_owner("dashboard", "dashboard"),
            not_empty("name", name="dashboard_has_a_name", message="Enter a name."),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_shared(self) -> bool:
        return self.owner_id is None


class Widget(AccountModel):
    """A widget of a board. `type` and the content of `config` come from the catalogue; x, w in columns; y, h in rows."""

    dashboard = models.ForeignKey(Dashboard, on_delete=models.CASCADE, related_name="widgets")
    order = models.PositiveSmallIntegerField()
    type = models.CharField(max_length=40)
    title = models.CharField(max_length=100, blank=True)
    config = models.JSONField(default=dict, blank=True)
    x = models.PositiveSmallIntegerField()
    y = models.PositiveSmallIntegerField()
    w = models.PositiveSmallIntegerField()
    h = models.PositiveSmallIntegerField()

    class Meta:
        ordering = ["order"]
        constraints = [
            models.UniqueConstraint(
                fields=["dashboard", "order"],
                name="widget_order_unique",
                deferrable=models.Deferrable.DEFERRED,
            ),
            models.UniqueConstraint(
                fields=["dashboard", "x", "y"],
                name="widget_place_unique",
                deferrable=models.Deferrable.DEFERRED,
            ),
            models.CheckConstraint(
                condition=Q(w__gte=1, h__gte=1, x__lte=12 - F("w")),
                name="widget_is_on_the_board",
            ),
        ]

    def __str__(self) -> str:
        return self.title or self.type
