"""Everything that is specific to a client, one folder each."""
