"""Read a file of a source with a column mapping as FOCUS columns."""

from __future__ import annotations

from finops.costs.focus.columns import fold
from finops.costs.mapping.document import BILLED_COST, MappingDocument
from finops.costs.mapping.document_mapping import DocumentFormat, missing_columns
from finops.costs.native.formats import format_of
from finops.costs.native.native_format import TableFile
from finops.costs.native.native_reader import NativeReader


def document_reader(file: TableFile, document: MappingDocument) -> NativeReader | None:
    """Return a reader of the file by the document; None for FOCUS and native formats, which need none, unless they
    have the document's columns.

    Raises UnknownFormat that names the missing columns of any other file.
    """
    if is_of_a_format(file) and missing_columns(document, file.names):
        return None
    format_ = DocumentFormat(document)
    return NativeReader(file, format_, format_.mapping(file.names, file.name))


def is_of_a_format(file: TableFile) -> bool:
    """Return whether its columns are those of FOCUS or of a native format."""
    return fold(BILLED_COST) in map(fold, file.names) or format_of(file.names) is not None
