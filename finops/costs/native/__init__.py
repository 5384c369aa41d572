"""Bills in a cloud's own format, presented to the importer as FOCUS columns. See docs/native-formats.md.

`native_format.py` defines a format, `formats/` has one module each, `native_reader.py` wraps the reader of a CSV or
Parquet file. Uploads, `import_focus` and syncs accept these files like FOCUS.
"""
