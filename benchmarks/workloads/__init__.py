"""Workloads of the benchmarks: texts, prompts, questions, stores, and the commands run on them."""
