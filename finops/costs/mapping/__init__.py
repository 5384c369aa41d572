"""Files with any columns as FOCUS, by a person's mapping of a source's columns. See docs/column-mapping.md.

`document.py` is what is stored, `document_mapping.py` reads files by it, in the way of a native format.
"""
