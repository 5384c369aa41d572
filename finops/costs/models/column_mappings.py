"""What a person has said of the columns of a source's files."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.costs.mapping.document import MappingDocument, document_of
from finops.lib import clock


class ColumnMapping(AccountModel):
    """How files of a source that are no FOCUS become it. One a source, replaced whole; the audit log has what it was."""

    source = models.OneToOneField("CostSource", on_delete=models.CASCADE, related_name="column_mapping")
    content = models.JSONField(help_text="finops.costs.mapping.document.MappingDocument.")
    changed_at = models.DateTimeField(default=clock.now)
    changed_by_label = models.CharField(max_length=254, blank=True)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    def __str__(self) -> str:
        return f"columns of source {self.source_id}"

    @property
    def document(self) -> MappingDocument:
        """Raises UserError for content that no version of this program has written."""
        return document_of(self.content)
