"""Locate the packages and the model of the extra, without importing them.

They are found where any package is (`pip install memory-fabric[semantic]`), or in the folder that
`memory-fabric semantic on` fills beside the plugin's own environment.
"""

from __future__ import annotations

import os
from importlib.util import find_spec

from memory_fabric.setup import extras, packages

KIND = "semantic"
# What stands in its folder once that is whole.
MARKER = packages.MARKER
PACKAGES = ("numpy", "tokenizers", "wordllama")
WEIGHTS = os.path.join("weights", "l2_supercat_256.safetensors")
TOKENIZER = os.path.join("tokenizers", "l2_supercat_tokenizer_config.json")


def folder_of(data_dir: str, plugin_root: str) -> str:
    """The folder of the extra for this interpreter and its pins; empty where there is none."""
    return extras.folder_of(KIND, data_dir, plugin_root)


def missing() -> list[str]:
    """The packages of the extra that cannot be found, by name."""
    return extras.missing(PACKAGES)


def model_files() -> tuple[str, str]:
    """Paths of the word vectors and of the tokenizer. Raises FileNotFoundError.

    The package that carries them is located, not imported: it would set up logging for everybody
    and bring its own downloader.
    """
    spec = find_spec("wordllama")
    for folder in (spec.submodule_search_locations if spec else None) or ():
        weights, tokenizer = os.path.join(folder, WEIGHTS), os.path.join(folder, TOKENIZER)
        if os.path.exists(weights) and os.path.exists(tokenizer):
            return weights, tokenizer
    raise FileNotFoundError("the package wordllama holds no model that this release knows")
