#!/bin/sh
# Prepares a run of a case: its files, and what earlier sessions settled. $1 is the case's folder;
# the runner starts it in the run's workspace, with the run's HOME.
case=$(cd "$1" && pwd) && root=$(cd "$case/../.." && pwd) || exit 1
. "$root/hooks/find-python.sh"
find_python
[ -n "$python" ] || { echo "memory-fabric: no Python 3.11 or newer was found" >&2; exit 1; }
set -e
[ ! -d "$case/files" ] || cp -R "$case/files/." .
exec "$python" -I "$root/evals/lib/seed.py" <"$case/points.txt"
