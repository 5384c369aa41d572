"""Files of any columns as FOCUS: what a person says of the columns of a source's files. See docs/column-mapping.md.

`document.py` is what is stored, `document_mapping.py` reads files by it, as a native format is read.
"""
