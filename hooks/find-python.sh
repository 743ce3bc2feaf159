# Sourced by hooks/launch (when nothing is remembered) and bin/memory-fabric; POSIX sh.
# find_python sets `python` to the absolute path of a real interpreter (no shim, no venv) that is
# Python >= 3.11 with SQLite FTS5 and its trigrams, else leaves it empty and says in `why`: missing, old or fts5.

probe='
import sys
if sys.version_info < (3, 11):
    sys.exit(3)
try:
    import sqlite3
    sqlite3.connect(":memory:").execute("CREATE VIRTUAL TABLE probe USING fts5(words, tokenize=trigram)")
except Exception:
    sys.exit(4)
import os
print(os.path.realpath(sys._base_executable))
'

find_python() {
    python='' why=missing
    try_python "${MEMORY_FABRIC_PYTHON:-}" && return 0
    for name in python3.14 python3.13 python3.12 python3.11 python3 python; do
        found=$(command -v "$name" 2>/dev/null)
        case $found in "'"*) found=${found#"'"} found=${found%"'"} ;; esac # ksh93 quotes spaces
        try_python "$found" && return 0
    done
    search_places
}

# Folders that may contain Python without being in PATH. MEMORY_FABRIC_PYTHON_PLACES
# (folders, separated by ":") replaces them.
search_places() {
    if [ -n "${MEMORY_FABRIC_PYTHON_PLACES:-}" ]; then
        words=$IFS
        IFS=:
        set -f
        # shellcheck disable=SC2086 # it has to split at ":"
        set -- $MEMORY_FABRIC_PYTHON_PLACES
        set +f
        IFS=$words
    else
        # uv's and pyenv's own folders are listed here rather than asked for: `uv python find` would
        # follow the project's .python-version and .venv, and start a process.
        set -- /usr/bin /usr/local/bin /opt/homebrew/bin "${HOME:-}/.local/bin" \
            "${UV_PYTHON_INSTALL_DIR:-${XDG_DATA_HOME:-${HOME:-}/.local/share}/uv/python}"/cpython-3.1[1-9]*/bin \
            "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/3.1[1-9]*/bin
    fi
    for place; do
        for name in python3.14 python3.13 python3.12 python3.11 python3; do
            try_python "$place/$name" && return 0
        done
    done
    return 1
}

try_python() {
    case $1 in /*) ;; *) return 1 ;; esac # a relative entry of PATH would run a repository's file
    [ -f "$1" ] && [ -x "$1" ] || return 1
    # Without the developer tools, macOS answers /usr/bin/python3 with a dialog.
    if [ "$1" = /usr/bin/python3 ] && [ -x /usr/bin/xcode-select ]; then
        /usr/bin/xcode-select -p >/dev/null 2>&1 </dev/null || return 1
    fi
    found=$("$1" -I -S -c "$probe" </dev/null 2>/dev/null)
    case $? in # report the interpreter that came closest
        0) ;;
        3) [ "$why" = fts5 ] || why=old ;;
        4) why=fts5 ;;
    esac
    [ -n "$found" ] && [ -f "$found" ] && [ -x "$found" ] || return 1
    python=$found
}

remember_python() { # $1: the runtime folder; silent where it cannot be written
    [ -n "$1" ] || return 0
    (
        umask 077
        [ -d "$1" ] || mkdir -p "$1" || exit
        printf '%s\n' "$python" >"$1/interpreter.$$" && mv -f "$1/interpreter.$$" "$1/interpreter"
        [ ! -e "$1/python-notice" ] || rm -f "$1/python-notice"
    ) >/dev/null 2>&1 </dev/null
}

# One notice for the person, once, and only where the client shows one: the first 64 KB of the event
# name it (text inside it cannot imitate that, its quotes are escaped).
notice_once() { # $1: the runtime folder
    [ -t 0 ] && return 0
    event=$(head -c 65536 && cat >/dev/null)
    case $event in
        *'"hook_event_name":"SessionStart"'* | *'"hook_event_name": "SessionStart"'*) event=start ;;
        *'"hook_event_name":"UserPromptSubmit"'* | *'"hook_event_name": "UserPromptSubmit"'*) event=prompt ;;
        *) return 0 ;;
    esac
    if (umask 077 && { [ -d "$1" ] || mkdir -p "$1"; }) >/dev/null 2>&1 && [ -w "$1" ]; then
        # noclobber: of two hooks at once, one says it
        (umask 077 && set -C && : >"$1/python-notice") 2>/dev/null || return 0
    elif [ "$event" != start ]; then
        return 0 # not writable: report once a session
    fi
    explain_missing_python
    printf '{"systemMessage": "memory-fabric is off: %s. %s"}\n' "$reason" "$remedy"
}

explain_missing_python() { # sets reason and remedy; both are put into JSON unescaped: no quotes
    case $why in
        old) reason='it needs Python 3.11 or newer, and only an older one was found' ;;
        fts5) reason='the SQLite of the Python found lacks full-text search (FTS5 with trigrams: SQLite 3.34)' ;;
        *) reason='it needs Python 3.11 or newer, and none was found' ;;
    esac
    if command -v uv >/dev/null 2>&1; then
        remedy='This helps: uv python install 3.13'
    elif command -v brew >/dev/null 2>&1; then
        remedy='This helps: brew install python@3.13'
    elif command -v apt-get >/dev/null 2>&1 && [ "$why" = missing ]; then
        remedy='This helps: sudo apt-get install python3 python3-venv'
    elif command -v apt-get >/dev/null 2>&1; then
        remedy='This helps: sudo apt-get install python3.11 python3.11-venv'
    elif command -v dnf >/dev/null 2>&1; then
        remedy='This helps: sudo dnf install python3.12'
    else
        remedy='Install Python 3.11 or newer with SQLite, or name one in MEMORY_FABRIC_PYTHON'
    fi
}
