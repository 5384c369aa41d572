"""Read FOCUS files and convert them to cost rows. Pure: no Django, no database.

`normalise` reads files and spools the rows by billing month; `spool.MonthRows.batches` returns them in the lake's
cost schema. `docs/focus-import.md` says what is accepted and explains each line of the report.
"""
