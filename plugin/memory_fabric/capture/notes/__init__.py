"""Notes: lines by which the assistant records decisions, rules, facts and fixes."""
