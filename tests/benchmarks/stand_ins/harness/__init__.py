"""The names, fields and checks of agent-memory-bench's package `harness` that the adapter uses.

Written from the interface of September 2026, without its code; README.md in
benchmarks/agent_memory_bench names the commits that were read.
"""
