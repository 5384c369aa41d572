"""An app of a version that is newer than this one: tables that every question and push uses have a column and an index more."""
