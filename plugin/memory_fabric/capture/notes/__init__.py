"""Notes: the lines in which the assistant writes down what was settled."""
