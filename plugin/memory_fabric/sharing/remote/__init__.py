"""A log in the files of a git repository, for the machines of one user."""
