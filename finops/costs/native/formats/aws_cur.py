"""AWS Cost and Usage Reports: legacy CUR (CSV and Parquet) and CUR 2.0 of Data Exports. Rules: docs/native-formats.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from finops.costs.focus.columns import fold
from finops.costs.focus.formats import FormatChoice
from finops.costs.native.aws import cur_negations
from finops.costs.native.aws.cur_mapping import CurMapping
from finops.costs.native.native_format import NativeFile, NativeFormat, OtherFiles


class AwsCur(NativeFormat):
    """Recognised by two columns of line items; their spelling differs by report and by file type."""

    title: ClassVar[str] = "AWS Cost and Usage Report"

    def recognises(self, names: Sequence[str]) -> bool:
        folded = {fold(name) for name in names}
        own = sum(name.startswith("lineitem") for name in folded)
        return own >= 2 and fold("lineItem/intervalUsageStart") not in folded  # a column of Oracle's reports

    def mapping(self, names: Sequence[str], file: str) -> CurMapping:
        return CurMapping(names)

    def relate(self, files: Sequence[NativeFile], choice: FormatChoice, others: OtherFiles) -> None:
        """Read nothing: the remaining differences of negations are known after the last file."""
        reports = _reports(files)
        earlier = [cur_negations.of_summary(summary) for summary in others.earlier]
        for report in reports:
            report.reports, report.earlier, report.more_follow = reports, earlier, others.more_follow

    def last_needs_others(self, files: Sequence[NativeFile]) -> bool:
        return True

    def summary(self, files: Sequence[NativeFile]) -> bytes | None:
        """Return the negations of these files; their differences are lines of the import's last file."""
        return cur_negations.summary_of(report.negations for report in _reports(files))


def _reports(files: Sequence[NativeFile]) -> list[CurMapping]:
    return [mapping for mapping, _ in files if isinstance(mapping, CurMapping)]
