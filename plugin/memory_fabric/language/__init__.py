"""Natural language: known names, synonyms, dates and compiled patterns."""
