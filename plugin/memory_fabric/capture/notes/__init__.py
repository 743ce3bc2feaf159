"""Notes: lines in which the assistant records decisions, rules, facts and fixes."""
