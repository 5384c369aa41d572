"""Bills in a cloud's own format, shown to the importer as FOCUS columns. See docs/native-formats.md.

`native_format.py` says what a format is, `formats/` has one module each, `native_reader.py` wraps the reader of a CSV or
Parquet file. Uploads, `import_focus` and syncs take these files as they take FOCUS.
"""
