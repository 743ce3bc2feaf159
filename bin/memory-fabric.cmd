@echo off
rem The command memory-fabric on Windows: Python without a shell does the rest.
setlocal
if defined MEMORY_FABRIC_PYTHON (
  "%MEMORY_FABRIC_PYTHON%" -I -S "%~dp0..\hooks\launch.py" --run %*
) else (
  py -3 -I -S "%~dp0..\hooks\launch.py" --run %*
)
