"""Analysis of results: tables, profiles, fits and tests from lists of rows; nothing is drawn or printed."""
