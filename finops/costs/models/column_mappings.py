"""The column mappings of sources."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from accounts.scoping import AccountModel
from finops.costs.mapping.document import MappingDocument, document_of
from finops.lib import clock


class ColumnMapping(AccountModel):
    """How a source's files become FOCUS. One per source, replaced as a whole; the audit log has earlier ones."""

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
        """The parsed document. Raises UserError for content that no version of this program has written."""
        return document_of(self.content)
