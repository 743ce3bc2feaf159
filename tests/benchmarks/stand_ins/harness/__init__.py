"""What the adapter uses of agent-memory-bench's package `harness`: its names, fields and checks.

Written from the interface of September 2026, without its code; README.md in
benchmarks/agent_memory_bench names the commits that were read.
"""
