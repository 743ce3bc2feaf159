"""A shared log in the files of a git repository, to synchronise the machines of one user."""
