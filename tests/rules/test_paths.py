"""Patterns of paths, and the files that a single command changes."""

from __future__ import annotations

import pytest

from memory_fabric.rules import paths
from memory_fabric.rules.shell import Call


def changed(line: str, stdin: str = "") -> str:
    """Return the paths that a command without quotes changes, separated by blanks."""
    return " ".join(paths.of_call(Call(tuple(line.split()), "/srv", stdin=stdin)))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src", "src", True),
        ("src", "a/src/b", True),
        ("src", "a/srcs", False),
        ("src/", "src", False),
        ("src/", "src/x", True),
        ("src/", "a/src/x", True),
        ("src/api", "src/api/x", True),
        ("src/api", "src", False),
        ("src/api", "a/src/api", False),
        ("src/./api", "src/api", True),
        ("src/*/x", "src/a/x", True),
        ("src/*/x", "src/a/b/x", False),
        ("src/**", "src", True),
        ("src/**", "srcs/a", False),
        ("src/**/x", "src/x", True),
        ("src/**/x", "src/a/b/x", True),
        ("src/**/x", "src/a/b", False),
        ("**/api", "api", True),
        ("**/api", "a/b/api/c", True),
        ("src/api", "src/a*", True),
        ("src/api", "src/b*", False),
        ("**/api", "x/a*", False),
        ("", "x", False),
        ("x", "", False),
    ],
)
def test_a_pattern_covers_a_path_or_what_is_below_it(
    pattern: str, path: str, *, expected: bool
) -> None:
    assert paths.covers(pattern, path) is expected


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("a*c", "abbc", True),
        ("a*c", "ac", True),
        ("a*c", "acb", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        ("a*b*c", "axbxbxc", True),
        ("a*b*c", "acb", False),
        ("*a", "bab", False),
        ("a**", "a", True),
        ("a", "ab", False),
        ("ab", "a", False),
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
    ],
)
def test_wildcards_match_characters_of_a_name(pattern: str, name: str, *, expected: bool) -> None:
    assert paths.is_like(pattern, name) is expected


@pytest.mark.parametrize(
    ("path", "wanted", "alone", "with_contents"),
    [
        ("/a/b", "/a/b", True, True),
        ("/a", "/a/b", False, True),
        ("/", "/a", False, True),
        ("/c", "/a/b", False, False),
        ("/a/b/c", "/a/b", False, False),
        ("/a/b/*", "/a/b", False, True),
        ("/a/b/x*", "/a/b", False, False),
        ("/a/b/c/*", "/a/b", False, False),
        ("/a/b*", "/a/bc", True, True),
        ("/a", "", False, False),
    ],
)
def test_a_folder_with_its_contents_reaches_all_paths_below_it(
    path: str, wanted: str, *, alone: bool, with_contents: bool
) -> None:
    assert paths.reaches(path, wanted, whole=False) is alone
    assert paths.reaches(path, wanted, whole=True) is with_contents


def test_the_literal_head_of_a_pattern_ends_before_its_first_wildcard() -> None:
    heads = {
        "src/*/x": "src",
        "src/{a,b}/c": "src",
        "/srv/x?": "/srv",
        "src/api": "src/api",
        "*.py": "",
        "/*.py": "/",
    }

    assert {pattern: paths.literal_head(pattern) for pattern in heads} == heads


URL = "https://example.org/y"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rm a b", "a/ b/"),
        ("rm --help a", ""),
        ("find . -name x -delete", "x/"),
        ("find src -name x", ""),
        ("cp a b", "b b/a"),
        ("cp a a.bak", "a.bak"),
        ("cp a/ d/", "d d/a"),
        ("cp a", ". ./a"),
        ("cp a /", "/ /a"),
        ("cp *.py d", "d"),
        ("cp -t d a b", "d d/a d/b"),
        ("mv a b", "b b/a a/"),
        ("rsync -a x d", "d d/x"),
        ("rsync --delete x d", "d/ d/x"),
        ("cp --delete x d", "d d/x"),
        ("rsync -n x d", ""),
        ("cp -n x d", "d d/x"),
        ("scp a host:b", ""),
        ("tee a b", "a b"),
        ("sed -i s/a/b/ f", "f"),
        ("sed -i f", "f"),
        ("sed s/a/b/ f", ""),
        ("sed --in-place s/a/b/ f", "f"),
        ("sed -fi f", ""),
        ("perl -Mstrict f", ""),
        ("ed -i f", "f"),
        ("awk -i inplace 1 f", "f"),
        ("awk 1 f", ""),
        ("black src", "src/"),
        ("black --check src", ""),
        ("prettier src", ""),
        ("prettier --write src", "src/"),
        ("tar xf a.tar -C d", "d"),
        ("tar cf a.tar -C d", ""),
        ("tar --exclude=x -C d", ""),
        ("npm install x", "package.json"),
        ("npm install", ""),
        ("npm install -g x", ""),
        ("npm run x", ""),
        ("dd if=a of=b", "b"),
        ("git rm a", "a/"),
        ("git rm --cached a", ""),
        ("git restore --staged a", ""),
        ("git restore --staged --worktree a", "a/"),
        ("git clean -f", "./"),
        ("git clean -f d", "d/"),
        ("git clean -nd d", ""),
        ("git rm -n a", "a/"),
        ("git checkout main", ""),
        ("git checkout a.py", "a.py/"),
        ("git checkout v1.2/main", ""),
        ("git checkout main a b", "a/ b/"),
        ("git checkout main -- a b", "a/ b/"),
        ("git checkout -b x y", ""),
        ("git status a", ""),
        (f"curl -o f {URL}", "f"),
        (f"curl -of {URL}", "f"),
        (f"curl -sSLo f {URL}", "f"),
        (f"curl --output=f {URL}", "f"),
        (f"curl -dof {URL}", ""),
        (f"curl -O {URL}?z", "y"),
        (f"curl --remote-name {URL}", "y"),
        (f"curl -HO {URL}", ""),
        (f"curl --output-dir d -O {URL}", "d/y"),
        (f"curl {URL}", ""),
        (f"wget {URL}", "y"),
        (f"wget -P d {URL}", "d/y"),
        (f"wget -O f {URL}", "f"),
        ("sort -o f /g/h", "f"),
        ("ls a", ""),
    ],
)
def test_the_files_that_a_command_changes_are_found(line: str, expected: str) -> None:
    assert changed(line) == expected


def test_a_patch_changes_the_files_that_it_names() -> None:
    patch = "--- a/x.py\n+++ b/x.py\t2026-03-01\n+new\n+++ y.py"

    assert changed("patch -p1", patch) == changed("git apply -", patch) == "x.py y.py"
    assert changed("git am", patch) == changed("git apply x.patch") == ""


def test_a_redirection_changes_its_file_even_without_a_command() -> None:
    assert [*paths.of_call(Call((), "/srv", ("f", "g")))] == ["f", "g"]
