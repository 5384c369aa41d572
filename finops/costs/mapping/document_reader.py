"""A file of a source that has a column mapping, as a file of FOCUS columns."""

from __future__ import annotations

from finops.costs.focus.columns import fold
from finops.costs.mapping.document import BILLED_COST, MappingDocument
from finops.costs.mapping.document_mapping import DocumentFormat, missing_columns
from finops.costs.native.formats import format_of
from finops.costs.native.native_format import TableFile
from finops.costs.native.native_reader import NativeReader


def document_reader(file: TableFile, document: MappingDocument) -> NativeReader | None:
    """The file by the document; None for FOCUS and native formats without the document's columns, which need none.

    Raises UnknownFormat that names what any other file lacks.
    """
    if is_of_a_format(file) and missing_columns(document, file.names):
        return None
    format_ = DocumentFormat(document)
    return NativeReader(file, format_, format_.mapping(file.names, file.name))


def is_of_a_format(file: TableFile) -> bool:
    """Whether its columns say that it is FOCUS or of a native format."""
    return fold(BILLED_COST) in map(fold, file.names) or format_of(file.names) is not None
