"""The draw of random changes of the package, and how a change is found to be noticed."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

import mutation_map
import mutation_sites
import mutations

SOURCE = b'''"""Text of 1 module."""
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from somewhere import Name
LIMIT: Literal[5] = 4


class Shape(Protocol):
    size: int = 1


class Box:
    def area(self, wide: int = 2) -> "int | None":
        """Return 1 number."""
        log.warning("more than %d", 3)
        if wide < 1 and not self.open:
            self.count += wide
        return wide * LIMIT
'''
IDS = "ids.py"


def test_mutations_change_executable_code_but_not_docstrings_or_annotations() -> None:
    changed = [
        mutation_sites.mutated(SOURCE, site).decode().splitlines()[site.line - 1].strip()
        for site in mutation_sites.sites("box.py", SOURCE)
    ]

    assert changed == [
        "LIMIT: Literal[5] = 5",
        "LIMIT: Literal[5] = (3)",
        'def area(self, wide: int = 3) -> "int | None":',
        'def area(self, wide: int = (1)) -> "int | None":',
        "if (not (wide < 1 and not self.open)):",
        "if (wide < 1 or not self.open):",
        "if (wide <= 1) and not self.open:",
        "if wide < 2 and not self.open:",
        "if wide < (0) and not self.open:",
        "if wide < 1 and (self.open):",
        "pass",
        "return None",
        "return (wide / LIMIT)",
    ]


def test_a_mutation_is_labelled_with_its_function_or_its_assigned_variable() -> None:
    places = mutation_sites.sites("box.py", SOURCE)

    assert {(place.function, place.names) for place in places} == {
        ("", ("LIMIT",)),
        ("Box.area", ()),
    }


def test_a_seed_determines_the_sampled_mutations_and_every_package_is_sampled() -> None:
    names = {"large": 900, "small": 90, "tiny": 1}
    rooms = {name: mutation_sites.sites(f"{name}/box.py", SOURCE) for name in names}

    first, again, other = (
        mutation_sites.draw(rooms, 6, seed, Counter(names)) for seed in (7, 7, 8)
    )

    assert first == again != other
    assert Counter(site.path for site in first) == {
        "large/box.py": 4,
        "small/box.py": 1,
        "tiny/box.py": 1,
    }
    assert len({(site.path, site.line) for site in first}) == 6


def test_only_a_test_of_the_changed_code_catches_a_mutation(
    tmp_path: Path,
) -> None:
    copy = mutations.Copy(tmp_path / "copy")
    changed = copy.tree / mutation_map.PACKAGE / IDS
    before = changed.read_bytes()
    site = next(
        site
        for site in mutation_sites.sites(IDS, before)
        if (site.function, site.kind) == ("short_id", "return None")
    )
    needs_it, other = (
        mutations.Test(f"tests/test_ids.py::{name}", 1.0, 1)
        for name in (
            "test_a_short_id_consists_of_the_last_eight_characters_of_an_id",
            "test_ids_created_at_the_same_moment_differ",
        )
    )

    outcomes = [copy.caught(site, [test]) for test in (needs_it, other)]

    assert outcomes == [("caught", needs_it.node), ("survived", "")]
    assert changed.read_bytes() == before
