"""The optional semantic packages: installed, broken or turned off."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_fabric.config import Settings, read_settings
from memory_fabric.models import Hit
from memory_fabric.semantic import measure
from memory_fabric.semantic.measure import OFF, ON, Measure, measure_for, model_files, state
from memory_fabric.setup import extras
from semantic import extra


def settings(tmp_path: Path, **file: object) -> Settings:
    """Settings as a process beside the plugin has them."""
    return read_settings({"HOME": str(tmp_path), "CLAUDE_PLUGIN_ROOT": str(extra.ROOT)}, file)


def test_the_semantic_extra_is_enabled_in_tests(tmp_path: Path) -> None:
    measure = measure_for(settings(tmp_path))

    assert state(settings(tmp_path)) == (ON, "")
    assert measure is not None and measure is measure_for(settings(tmp_path))
    assert measure.ready()


def test_the_semantic_extra_can_be_disabled_in_the_config(tmp_path: Path) -> None:
    off = settings(tmp_path, semantic=False)

    assert measure_for(off) is None
    assert state(off)[0] == OFF


def test_a_package_without_a_model_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / measure.MODEL_PACKAGE).mkdir()
    (tmp_path / measure.MODEL_PACKAGE / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(FileNotFoundError, match="holds no model that this release knows"):
        model_files()


def test_a_broken_model_gives_no_similarities_and_reports_the_reason(tmp_path: Path) -> None:
    (tmp_path / "weights").write_bytes(b"\xff" * 99)
    measure = Measure(str(tmp_path / "weights"), model_files()[1])

    hit = Hit(id="record:1", text="a red car", source="records", timestamp="2026")
    assert measure.similarities((), "a vehicle", [hit]) == {}
    assert "no safetensors file" in measure.broken
    with pytest.raises(ValueError, match="no safetensors file"):
        assert measure.model


def test_the_lock_file_pins_every_package_of_the_semantic_extra() -> None:
    import tomllib

    with (extra.ROOT / "pyproject.toml").open("rb") as file:
        named = tomllib.load(file)["project"]["optional-dependencies"]["semantic"]
    lock = Path(extras.lock_file(extras.SEMANTIC, str(extra.ROOT))).read_text("utf-8")

    pinned = {line.partition("==")[0] for line in lock.splitlines() if "==" in line[:40]}
    assert {name.replace("==", ">=").partition(">=")[0] for name in named} == pinned
    assert {name.replace("-", "_") for name in pinned} == set(measure.PACKAGES)


def test_turns_without_a_stored_vector_are_not_measured(tmp_path: Path) -> None:
    measure = measure_for(settings(tmp_path))
    assert measure is not None
    turn = Hit(id="episode:1", text="a red car", source="episodes")
    fact = Hit(id="record:1", text="a red car", source="records")

    assert list(measure.similarities((), "a vehicle", [turn, fact])) == ["record:1"]
