"""Words of people: known names, synonyms, dates."""
