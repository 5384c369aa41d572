"""Azure Cost Management exports of actual and amortized cost. The mapping is in finops/costs/native/azure/."""

from __future__ import annotations

from collections.abc import Sequence

from finops.costs.focus.csvfile import CsvFile
from finops.costs.focus.formats import FormatChoice
from finops.costs.native.azure import columns, dates, pair
from finops.costs.native.azure.mapping import AzureMapping
from finops.costs.native.azure.pair import ExportRole
from finops.costs.native.native_format import NativeFile, NativeFormat, OtherFiles, TableFile


class AzureFormat(NativeFormat):
    title = "Azure cost export"

    def recognises(self, names: Sequence[str]) -> bool:
        return columns.is_export(names)

    def mapping(self, names: Sequence[str], file: str) -> AzureMapping:
        return AzureMapping(names, file)

    def relate(self, files: Sequence[NativeFile], choice: FormatChoice, others: OtherFiles) -> None:
        """Read each file up to the first date that decides their order; with more than one file, up to the line that
        decides which of the two exports it is."""
        azure = [(mapping, file) for mapping, file in files if isinstance(mapping, AzureMapping)]
        for mapping, file in azure:
            mapping.has_text_numbers = _has_text_numbers(mapping, file)
            mapping.date_order, mapping.date_note = dates.order_of(mapping, file, choice.dates)
        mappings = [mapping for mapping, _ in azure]
        if others.decisions:
            pair.assign_part(mappings, others)
        elif len(azure) > 1:
            pair.assign_roles(
                mappings, [file.path for _, file in azure], [pair.survey(*each) for each in azure]
            )

    def decisions(self, files: Sequence[NativeFile]) -> Sequence[str]:
        """Return which of the two exports each file is."""
        return [mapping.role.value for mapping in _mappings(files)]

    def last_needs_others(self, files: Sequence[NativeFile]) -> bool:
        """Return whether there are files of both exports: the last file has the notes on how they match."""
        return any(mapping.role is not ExportRole.ALONE for mapping in _mappings(files))

    def summary(self, files: Sequence[NativeFile]) -> bytes | None:
        return pair.summary_of(_mappings(files))


def _mappings(files: Sequence[NativeFile]) -> list[AzureMapping]:
    return [mapping for mapping, _ in files if isinstance(mapping, AzureMapping)]


def _has_text_numbers(mapping: AzureMapping, file: TableFile) -> bool:
    if isinstance(file, CsvFile):
        return True
    return any(file.is_text(file.names.index(name)) for name in mapping.native(*columns.NUMBERS))
