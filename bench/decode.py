"""Tokens per second of SmolLM2-135M through Transformers' generate(): tpu against torch's CPU eager mode.

Both sides generate the same greedy tokens in one run, interleaved. tpu uses a static cache, which Transformers compiles
with backend="tpu"; the CPU side is measured with its default (growing) and with a static cache.
"""

from __future__ import annotations

import argparse

import torch
from measure import interleaved, machine, model_folder
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.generation import CompileConfig

PROMPT = "The capital of France is"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtypes", nargs="+", default=["float32", "bfloat16"])
    options = parser.parse_args()
    print(machine())
    folder = model_folder()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for dtype in options.dtypes:
        compare(folder, tokenizer, getattr(torch, dtype), options.tokens, options.rounds)


def compare(folder: str, tokenizer, dtype: torch.dtype, tokens: int, rounds: int) -> None:
    models = {d: AutoModelForCausalLM.from_pretrained(folder, dtype=dtype).eval().to(d) for d in ("cpu", "tpu")}
    prompt = tokenizer(PROMPT, return_tensors="pt")

    def generate(device: str, **options) -> None:
        inputs = prompt.to(device)
        out = models[device].generate(
            **inputs, min_new_tokens=tokens, max_new_tokens=tokens, do_sample=False, pad_token_id=0, **options
        )
        assert out.shape[1] == prompt.input_ids.shape[1] + tokens

    eager = CompileConfig(backend="eager")
    sides = {
        "cpu eager": lambda: generate("cpu"),
        "cpu eager, static cache": lambda: generate("cpu", cache_implementation="static", compile_config=eager),
        "tpu": lambda: generate("tpu", cache_implementation="static"),
    }
    times = interleaved(sides, rounds, warmup=2)
    base = times["cpu eager"].median
    print(
        f"\nSmolLM2-135M {str(dtype).removeprefix('torch.')}, batch 1, {tokens} greedy tokens, ms a token min/med/max"
    )
    for name, timing in times.items():
        rate = tokens / timing.median
        ratio = base / timing.median
        print(f"  {name:26} {timing.text(1e-3 * tokens):>22}   {rate:6.1f} tokens/s   {ratio:.2f}x")


if __name__ == "__main__":
    main()
