"""Files with any columns as FOCUS, by a person's mapping of a source's columns. See docs/column-mapping.md.

`document.py` is the stored form; `document_mapping.py` reads files by it, like a native format.
"""
