"""Natural language: known names, synonyms, dates, compiled patterns."""
