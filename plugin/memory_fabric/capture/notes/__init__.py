"""Notes: lines in which the assistant writes down decisions, rules, facts and fixes."""
