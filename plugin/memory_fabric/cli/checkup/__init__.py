"""What the doctor looks at, by subject; the table of all checks is in table.py."""
