"""Reading FOCUS files and turning them into cost rows. Pure: no Django, no database.

`normalise` reads files and spools the rows by billing month; `spool.SpooledMonth.batches` gives them back in the
lake's cost schema. `docs/focus-import.md` says what is accepted and what each line of the report means.
"""
