"""The command line `memory-fabric`; each module of `commands` covers one subject."""

# The shell script of `completion` requests completions with this environment variable.
COMPLETING = "_MEMORY_FABRIC_COMPLETE"
