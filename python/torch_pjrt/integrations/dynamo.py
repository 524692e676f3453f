"""torch.compile without a backend, or with inductor's: graphs on tpu go to ours, others to inductor as before. So what
libraries ask for by name, as TrainingArguments(torch_compile=True) does, works too. Written for torch 2.13."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch


def install() -> None:
    """Changes inductor's entry."""
    inductor = torch._TorchCompileInductorWrapper
    inductor.__call__ = _by_device(inductor.__call__)  # type: ignore[method-assign]


def _by_device(inductor: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(inductor)
    def compile_graph(self: Any, gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Any:
        from torch_pjrt import compile

        if compile.touches_tpu(gm, example_inputs):
            # Modes and options were inductor's, which has checked them.
            return compile.tpu_backend(gm, example_inputs)
        return inductor(self, gm, example_inputs)

    return compile_graph
