"""Git commands for synchronisation. They use a bare, shallow clone of one branch, stored in home.

The clone is only a copy. If it is damaged, for example because a process was killed, it is deleted
and cloned again. Git finds the credentials for the repository; the user is never asked for any.
"""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from memory_fabric.config import environment
from memory_fabric.redaction.redact import redact
from memory_fabric.sharing.team import errors
from memory_fabric.store import files
from memory_fabric.text import cut, one_line

FOLDER = os.path.join("team", "git")
# The prefix of this plugin's branches; the plugin neither reads nor writes any other branch.
BRANCHES = "memory-fabric/"
TIP, NEXT, PUSHED, READ = (f"refs/heads/{name}" for name in ("tip", "next", "pushed", "read"))
# The time limit of a git process in seconds; a process may have to transfer the whole branch.
LIMIT_S = 240.0
MAX_REASON_CHARS = 300
# Allowed URL schemes. An address without a scheme is a path, or HOST:PATH for ssh.
SCHEMES = ("https", "http", "ssh", "file")
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_ANOTHER_WAY = (
    "Keep it in git's credential helper (git config --global credential.helper, then one git "
    "ls-remote URL in a terminal), or use an address of ssh."
)
# Prefixes of the git variables to keep. Others, such as GIT_DIR, may select another repository.
_KEPT = tuple(
    f"GIT_{name}" for name in "SSH SSL PROXY HTTP EXEC_PATH CONFIG_GLOBAL CONFIG_SYSTEM".split()
)
# Settings that keep git and ssh from asking questions in a terminal or a window.
_UNASKED = {
    "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never", "GIT_ALLOW_PROTOCOL": ":".join(SCHEMES), "LC_ALL": "C",
}  # fmt: skip
_OPTIONS = ("core.hooksPath=" + os.devnull, "core.fsmonitor=false", "gc.autoDetach=false")
_MOVED = r"\[rejected\]|\[remote rejected\].*(lock|ref|exists|updat|old value)|stale info"
_NO_BRANCH = "couldn't find remote ref"
_BROKEN = r"\.lock'|shallow file has changed|bad object|corrupt|missing (blob|tree|comm)"
# Patterns for git's messages, each with an error class and a remedy; the first match is used.
_FAILURES: Sequence[tuple[str, type[errors.TeamError], str]] = (
    (r"Host key verification failed", errors.LoginFailed,
     "Connect once with ssh in a terminal, and compare the key that the host shows."),
    (r"Permission denied \(|Authentication failed|could not read (User|Pass)|prompts disabled|"
     r"error: 40[13]|invalid credentials", errors.LoginFailed,
     "git asks for a password here and nobody is asked. `git ls-remote URL` must work in a "
     "terminal without a question: use git's credential helper, or ssh with an agent."),
    (r"Permission denied|insufficient permission|unable to create temporary|[Rr]ead-only",
     errors.ServerReadOnly, "The next synchronisation tries again."),
    (r"No space left|[Qq]uota",
     errors.ServerFull, "Make room there; the next synchronisation goes on."),
    (r"protected|hook declined|deny|denied|not allowed|\[remote rejected\]", errors.NotAllowed,
     f"Allow pushes, forced ones too, to the branches {BRANCHES}*, or use another repository."),
    (r"not appear to be a git repo|[Nn]ot found|does not exist|No such file|not a git repo",
     errors.BadAddress, "Make an empty private repository there first (git init --bare, or on the "
     "host's page), and check the address."),
)  # fmt: skip


class Damaged(errors.Passing):
    """The clone was unusable and has been deleted; the next fetch clones the repository again."""


def checked(url: str) -> str:
    """Return the URL, or a folder's real path, if it is safe for git; else raise BadAddress."""
    path = os.path.expanduser(url)
    if os.path.isdir(path):
        return os.path.realpath(path)
    scheme, separator, rest = url.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    if rest and at and (":" in user or redact(user) != user):
        text = "The address holds a password, which process lists and files would show."
        raise errors.BadAddress(text, remedy=f"Take it out. {_ANOTHER_WAY}")
    host, (before, _, after) = "", url.partition(":")
    with suppress(ValueError):  # urlsplit refuses a host with an unclosed bracket
        host = urlsplit(url).hostname or ""
    is_remote_path = bool(before and after) and "/" not in before and "::" not in url
    is_url = scheme in SCHEMES and bool(host or (rest and scheme == "file"))
    is_odd = url.startswith("-") or any(map(str.isspace, url)) or not url.isprintable()
    is_known = is_url if separator else is_remote_path
    if not is_known or is_odd or (scheme == "http" and host not in LOOPBACK):
        raise errors.BadAddress(
            f"{cut(one_line(url), MAX_REASON_CHARS)} is no address of a git repository.",
            remedy="Use https://HOST/PATH, HOST:PATH or ssh://HOST/PATH, or the path of a bare "
            "repository that is there.",
        )
    return url


class Clone:
    """A local clone of one branch. Methods raise TeamError if the repository does not answer."""

    def __init__(self, home: str, name: str, url: str, branch: str) -> None:
        """Use the clone `name` in this home. The `url` must have been validated by `checked`."""
        self.folder = os.path.join(home, FOLDER, f"{name}.git")
        self.url, self.branch = url, f"refs/heads/{BRANCHES}{branch}"
        self._files: dict[str, dict[str, str]] = {"": {}}
        self._environ = _UNASKED | {
            name: value
            for name, value in environment().items()
            if name not in _UNASKED and (not name.startswith("GIT_") or name.startswith(_KEPT))
        }
        if "GIT_SSH" not in self._environ and not os.path.isabs(url):
            set_by_user = self._run("config", "--get", "core.sshCommand", folder="").stdout
            ssh = self._environ.get("GIT_SSH_COMMAND") or set_by_user.decode().strip() or "ssh"
            self._environ["GIT_SSH_COMMAND"] = f"{ssh} -oBatchMode=yes -oConnectTimeout=15"

    def fetch(self) -> str:
        """Fetch the branch; return the id of its newest commit, '' if the branch is missing."""
        try:
            return self._fetched()
        except Damaged:  # the damaged clone was deleted, so clone again
            return self._fetched()

    def remove(self) -> None:
        """Delete the clone from this machine; nothing is deleted from the repository."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._files = {"": {}}

    def files(self, commit: str) -> Mapping[str, str]:
        """Map the path of each file in a commit to the id of its blob. Raises Damaged."""
        if commit not in self._files:
            listed = self._git("ls-tree", "-r", "-z", commit).split(b"\0")
            pairs = (entry.decode("utf-8", "replace").split("\t") for entry in listed if entry)
            self._files[commit] = {path: about.split()[2] for about, path in pairs}
        return self._files[commit]

    def contents(self, blobs: Iterable[str]) -> list[bytes]:
        """Return the contents of the blobs with these ids, in the same order. Raises Damaged."""
        wanted = list(blobs)
        output = self._git("cat-file", "--batch", stdin="".join(f"{b}\n" for b in wanted).encode())
        found, place = [], 0
        for _ in wanted:
            head, _, _ = output[place : place + 200].partition(b"\n")
            size = head.rpartition(b" ")[2]
            if not size.isdigit():
                raise self._damaged(head)
            begin = place + len(head) + 1
            place = begin + int(size) + 1
            found.append(output[begin : place - 1])
        return found

    def commit(self, parent: str, changed: Mapping[str, bytes], kept: Mapping[str, str]) -> str:
        """Commit `changed` files (path to content) on top of `parent`; return the commit's id.
        Empty content deletes a file, and all other files stay. If `parent` is '', the commit begins
        a new history, with the changed files and the unchanged files in `kept` (path to blob id).
        With a parent, `kept` is ignored. Raises Damaged.
        """
        parts = [b"commit " + NEXT.encode(), b"mark :1"]
        parts += [f"committer {BRANCHES[:-1]} <> {int(time.time())} +0000".encode(), b"data 0"]
        whole = [f"M 100644 {blob} {path}".encode() for path, blob in kept.items()]
        parts += [f"from {parent}".encode()] if parent else whole
        for path, content in changed.items():
            if content:
                parts += [f"M 100644 inline {path}\ndata {len(content)}".encode(), content]
            elif parent:
                parts += [f"D {path}".encode()]
        parts += [b"get-mark :1", b"done", b""]
        output = self._git("fast-import", "--quiet", "--force", "--done", stdin=b"\n".join(parts))
        self.mark("", NEXT)  # fast-import needed this ref; callers set another to keep the commit
        return output.decode().strip()

    def push(self, commit: str, expected: str) -> bool:
        """Push a commit. Return False if the newest commit of the branch is not `expected`."""
        lease = f"--force-with-lease={self.branch}:{expected}"
        refs = f"{commit}:{self.branch}"
        process = self._run("push", "--porcelain", "--no-verify", lease, "origin", refs)
        if process.returncode == 0:
            return True
        said = (process.stdout + process.stderr).decode("utf-8", "replace")
        if re.search(_MOVED, said):
            return False
        raise self._failure("Cannot write", said)

    def mark(self, commit: str, *names: str) -> None:
        """Point refs to `commit`, so that git keeps it; delete them if it is ''. Raises Damaged."""
        word = f"update {{}} {commit}" if commit else "delete {}"
        lines = [word.format(name) for name in names if self.marked(name) != commit]
        if lines:
            self._git("update-ref", "--stdin", stdin="".join(f"{o}\n" for o in lines).encode())

    def marked(self, name: str) -> str:
        """Return the id of the commit to which a ref points, or ''. Raises Damaged."""
        # Most refs are files; reading a file is far cheaper than starting a git process.
        commit = files.read_text(os.path.join(self.folder, name)) or ""
        if not commit and os.path.exists(os.path.join(self.folder, "packed-refs")):
            commit = self._git("for-each-ref", "--format=%(objectname)", name).decode()
        return commit.strip()

    def has(self, commit: str) -> bool:
        if commit in self._files:
            return True
        return self._run("cat-file", "-e", f"{commit}^{{tree}}").returncode == 0

    def erase(self) -> None:
        """Delete all objects that no ref needs. Raises Damaged."""
        self._git("gc", "--quiet", "--prune=now")

    def _fetched(self) -> str:
        noted = os.path.join(self.folder, "description")
        if files.read_text(noted) != self.url:  # there is no clone, or one of another repository
            self.remove()
            beside = self.folder + ".new"
            shutil.rmtree(beside, ignore_errors=True)
            files.make_folder(os.path.dirname(self.folder))
            self._git("init", "--quiet", "--bare", beside, folder="")
            self._git("config", "remote.origin.url", self.url, folder=beside)
            files.write_atomic(os.path.join(beside, "description"), self.url.encode())
            os.rename(beside, self.folder)
        refs = f"+{self.branch}:{TIP}"
        options = ("--quiet", "--no-tags", "--no-auto-gc", "--depth=1")
        process = self._run("fetch", *options, "origin", refs)
        said = process.stderr.decode("utf-8", "replace")
        if process.returncode and _NO_BRANCH not in said:
            if re.search(_BROKEN, said):
                raise self._damaged(process.stderr)
            raise self._failure("Cannot read", said)
        if process.returncode:
            self.mark("", TIP)
            return ""
        tip = self.marked(TIP)
        self.files(tip)  # raises Damaged if the clone is incomplete
        return tip

    def _git(self, *words: str, stdin: bytes = b"", folder: str | None = None) -> bytes:
        """Run a git command that needs no network, and return its output. Raises Damaged."""
        process = self._run(*words, stdin=stdin, folder=folder)
        if process.returncode:
            raise self._damaged(process.stderr)
        return process.stdout

    def _damaged(self, said: bytes) -> Damaged:
        self.remove()
        reason = cut(one_line(said.decode("utf-8", "replace")), MAX_REASON_CHARS)
        text = f"The local copy of {self.url} could not be used: {reason}"
        return Damaged(text, remedy="It was deleted; the next synchronisation makes it again.")

    def _run(
        self, *words: str, stdin: bytes = b"", folder: str | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        git = shutil.which("git")
        if git is None:
            raise errors.BadAddress("git is not installed here.", remedy="Install git.")
        place = self.folder if folder is None else folder
        command = [git, *(f"--git-dir={place}" for _ in range(bool(place)))]
        command += [part for option in _OPTIONS for part in ("-c", option)]
        try:
            # A new process session (setsid) has no terminal in which ssh could ask questions.
            return subprocess.run(
                [*command, *words], input=stdin, capture_output=True, env=self._environ,
                timeout=LIMIT_S, check=False, start_new_session=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            text = f"git took more than {LIMIT_S:.0f} s with {self.url}."
            raise errors.TooSlow(text, remedy="The next synchronisation goes on.") from None

    def _failure(self, doing: str, said: str) -> errors.TeamError:
        """Return the error that matches git's output `said`; NoAnswer (temporary) if none does."""
        lines = (line.strip() for line in said.splitlines())
        reason = cut(one_line("; ".join(filter(None, lines))), MAX_REASON_CHARS)
        text = f"{doing} {self.url}: {reason or 'git says nothing'}"
        for pattern, kind, remedy in _FAILURES:
            if re.search(pattern, said):
                return kind(text, remedy=remedy.replace("URL", self.url))
        return errors.NoAnswer(text, remedy="The next synchronisation tries again.")
