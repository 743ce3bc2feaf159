"""What the benchmarks work on: texts, prompts, questions, stores, and the commands run on them."""
