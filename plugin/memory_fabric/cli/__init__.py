"""The command line `memory-fabric`; each module of `commands` covers one subject."""

# Environment variable with which the shell script of `completion` asks for completions.
COMPLETING = "_MEMORY_FABRIC_COMPLETE"
