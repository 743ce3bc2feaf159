"""Projects: which project a folder belongs to, and how the user links or splits projects."""
