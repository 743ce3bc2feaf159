"""Files of a home beside its databases: settings, logs, keys, marker files."""
