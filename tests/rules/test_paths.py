"""Patterns of paths, and the files that one command changes."""

from __future__ import annotations

import pytest

from memory_fabric.rules import paths
from memory_fabric.rules.shell import Call


def changed_by(line: str, stdin: str = "") -> str:
    """Return the paths that a command changes, joined by blanks."""
    return " ".join(paths.of_call(Call(tuple(line.split()), "/srv", stdin=stdin)))


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src", "src", True),
        ("src", "a/srcs", False),
        ("src/", "src", False),
        ("src/", "src/x", True),
        ("src/", "a/src/x", True),
        ("src/api", "src", False),
        ("src/api", "a/src/api", False),
        ("src/./api", "src/api", True),
        ("src/*/x", "src/a/x", True),
        ("src/*/x", "src/a/b/x", False),
        ("src/**", "src", True),
        ("src/**", "srcs/a", False),
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


LIKE = (
    *(("a*c", "abbc"), ("a*c", "ac"), ("a?c", "abc"), ("a*b*c", "axbxbxc"), ("a**", "a")),
    *(("*", ""), ("", "")),
)
UNLIKE = (
    *(("a*c", "acb"), ("a?c", "ac"), ("a*b*c", "acb"), ("*a", "bab"), ("a", "ab"), ("ab", "a")),
    ("", "a"),
)


@pytest.mark.parametrize(("pattern", "name"), LIKE + UNLIKE)
def test_wildcards_match_characters_of_a_name(pattern: str, name: str) -> None:
    assert paths.is_like(pattern, name) is ((pattern, name) in LIKE)


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
        ("find . -name x -delete", "x/"),
        ("cp a a.bak", "a.bak"),
        ("cp a/ d/", "d d/a"),
        ("cp a", ". ./a"),
        ("cp a /", "/ /a"),
        ("cp *.py d", "d"),
        ("cp -t d a b", "d d/a d/b"),
        ("rsync -a x d", "d d/x"),
        ("rsync --delete x d", "d/ d/x"),
        ("cp --delete x d", "d d/x"),
        ("cp -n x d", "d d/x"),
        ("tee a b", "a b"),
        ("sed -i f", "f"),
        ("sed s/a/b/ f", ""),
        ("sed --in-place s/a/b/ f", "f"),
        ("sed -fi f", ""),
        ("perl -Mstrict f", ""),
        ("ed -i f", "f"),
        ("awk 1 f", ""),
        ("prettier src", ""),
        ("tar --exclude=x -C d", ""),
        ("git restore --staged --worktree a", "a/"),
        ("git rm -n a", "a/"),
        ("git checkout a.py", "a.py/"),
        ("git checkout v1.2/main", ""),
        ("git checkout main a b", "a/ b/"),
        ("git status a", ""),
        (f"curl -of {URL}", "f"),
        (f"curl -dof {URL}", ""),
        (f"curl -O {URL}?z", "y"),
        (f"curl --remote-name {URL}", "y"),
        (f"curl -HO {URL}", ""),
        (f"wget {URL}", "y"),
    ],
)
def test_the_files_that_a_command_changes_are_found(line: str, expected: str) -> None:
    assert changed_by(line) == expected


def test_a_patch_changes_the_files_that_it_names() -> None:
    patch = "--- a/x.py\n+++ b/x.py\t2026-03-01\n+new\n+++ y.py"

    assert changed_by("patch -p1", patch) == changed_by("git apply -", patch) == "x.py y.py"
    assert changed_by("git am", patch) == changed_by("git apply x.patch") == ""


def test_a_redirection_changes_its_file_even_without_a_command() -> None:
    assert [*paths.of_call(Call((), "/srv", ("f", "g")))] == ["f", "g"]
