"""Registration of receipts with the garbage collection of the lake."""

from __future__ import annotations

from finops.lake.storage.garbage_collection import segment_holds
from finops.receipts.queries import bills_named_by_receipts

segment_holds.add("receipts", bills_named_by_receipts)
