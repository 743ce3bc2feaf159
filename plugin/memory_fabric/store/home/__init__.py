"""Files in the home folder other than databases: settings, logs, keys, marker files."""
