"""The similarity measure for recall, if the extra is installed; the entry point of this package.

`measure_for` costs a few stats; numpy and the model are loaded by the first question.
"""

from __future__ import annotations

from memory_fabric.semantic import place
from memory_fabric.setup import extras

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory_fabric.config import Settings
    from memory_fabric.semantic.model import Model

ON, OFF, ABSENT, BROKEN = "on", "off", "absent", "broken"
# One for each model in this process: the server answers many questions.
_measures: dict[str, Measure] = {}


class Measure:
    """Nearness of texts to a question; none at all from when the model turns out unusable."""

    def __init__(self, weights: str, tokenizer: str) -> None:
        self._files = (weights, tokenizer)
        self._model: Model | None = None
        self.broken = ""

    def __call__(self, question: str, texts: Sequence[str]) -> list[float]:
        """One number a text, −1 to 1; an empty list when the model cannot be used."""
        if not self.ready():
            return []
        from memory_fabric.semantic.similarity import similarities  # with numpy

        assert self._model is not None
        return similarities(self._model, question, texts)

    def ready(self) -> bool:
        """Load the model if needed; return False if that fails, with the reason in `broken`."""
        if self._model is None and not self.broken:
            try:
                from memory_fabric.semantic.model import Model

                self._model = Model(*self._files)
            # A package for another machine or half of one must not cost the answer: ImportError,
            # OSError, ValueError, and what compiled modules raise when they do not fit.
            except Exception as error:  # noqa: BLE001
                self.broken = f"{type(error).__name__}: {error}"
        return self._model is not None


def measure_for(settings: Settings) -> Measure | None:
    """Return the `similarity` for recall; None if the extra is missing or turned off."""
    if not settings.semantic:
        return None
    extras.reach(place.folder_of(settings.data_dir, settings.plugin_root))
    if place.missing():
        return None
    try:
        weights, tokenizer = place.model_files()
    except OSError:
        return None
    if weights not in _measures:
        _measures[weights] = Measure(weights, tokenizer)
    return _measures[weights]


def state(settings: Settings) -> tuple[str, str]:
    """(ON, OFF, ABSENT or BROKEN, why); loads the model to be sure."""
    if not settings.semantic:
        return OFF, "config.toml says semantic = false"
    measure = measure_for(settings)
    if measure is None:
        lacking = place.missing()
        return (ABSENT, f"not installed: {', '.join(lacking)}") if lacking else (BROKEN, "no model")
    return (ON, "") if measure.ready() else (BROKEN, measure.broken)
