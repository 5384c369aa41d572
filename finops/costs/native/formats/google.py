"""Google's billing export to BigQuery. The mapping is in finops/costs/native/google/."""

from __future__ import annotations

from collections.abc import Sequence

from finops.costs.native.google.mapping import GoogleMapping, places_of
from finops.costs.native.native_format import NativeFormat


class GoogleFormat(NativeFormat):
    title = "Google Cloud billing export"

    def recognises(self, names: Sequence[str]) -> bool:
        """Require a cost, a service, a SKU and the time of the usage. The console's cost table has days instead."""
        return {"cost", "service", "sku", "start"} <= places_of(names).keys()

    def mapping(self, names: Sequence[str], file: str) -> GoogleMapping:
        return GoogleMapping(names)
