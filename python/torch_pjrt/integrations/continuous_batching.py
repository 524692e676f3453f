"""Continuous batching of Transformers 5.24 on tpu: few shapes, all of them compiled before the first request.

Transformers pads batches only for CUDA graphs and torch.compile, and writes each batch's inputs into device tensors, a
slice of another length each time. Every such length would be a program of its own here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch
from transformers.generation.continuous_batching import cache, utils
from transformers.generation.continuous_batching.input_outputs import ContinuousBatchingIOs
from transformers.generation.continuous_batching.model_runner import ModelRunner

SMALLEST_QUERY = 16  # tokens of a batch
SMALLEST_READ = 256  # cached tokens that a batch reads
GROWTH = 4  # from one size to the next


def patch(continuous_api: ModuleType) -> None:
    """Batches of a model on tpu go through the classes below; those of other devices as before."""
    continuous_api.ContinuousBatchingIOs = _inputs_and_outputs
    continuous_api.ModelRunner = _model_runner
    manager = continuous_api.ContinuousBatchingManager
    manager._create_batch_processor = _warmed_up(manager._create_batch_processor)
    _read_memory_of_tpu()


def sizes(smallest: int, largest: int) -> list[int]:
    """The sizes that batches are padded to: `smallest`, then GROWTH times more, up to `largest`."""
    found = []
    size = smallest
    while size < largest:
        found.append(size)
        size *= GROWTH
    return [*found, largest]


class HostInputs(ContinuousBatchingIOs):
    """The inputs are put together on the host; what the padded batch needs of them goes to the device."""

    def __init__(self, *, device: torch.device, **kwargs: Any) -> None:
        super().__init__(device=torch.device("cpu"), **kwargs)
        self._target = device

    def get_model_kwargs(self, use_padding: bool = False) -> dict[str, Any]:
        kwargs = super().get_model_kwargs(use_padding=use_padding)
        return {name: value if name == "cache" else self._moved(value) for name, value in kwargs.items()}

    def _moved(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.to(self._target)
        if isinstance(value, dict):
            return {key: self._moved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._moved(item) for item in value]
        return value


class PaddedRunner(ModelRunner):
    """Pads every batch to one of a few sizes, and runs each of them once before the first request."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.pad_inputs = True
        self._queries = sizes(SMALLEST_QUERY, self.cache.max_batch_tokens)
        self._reads = [0, *sizes(SMALLEST_READ, self.cache.max_tokens_read)]
        self._warm = False

    def maybe_pad_inputs(self, num_q_tokens: int, max_kv_read: int, use_decode_fast_path: bool) -> tuple[int, int]:
        del use_decode_fast_path  # needs FlashAttention
        query = next(size for size in self._queries if size >= num_q_tokens)
        read = next(size for size in self._reads if size >= max_kv_read)
        return query, read

    @torch.no_grad()
    def warmup(self, model: torch.nn.Module) -> None:
        if self._warm:
            return
        self._warm = True
        pairs = [(query, read) for query in self._queries for read in self._reads]
        utils.logger.info(f"compiling {len(pairs)} batch sizes: queries {self._queries}, cached tokens {self._reads}")
        # The smallest twice: the zeros of the new cache become a part of the first batch's program.
        for query, read in [pairs[0], *pairs]:
            self.run_one_warmup(model=model, num_q_tokens=query, max_kv_read=read)
        self.cache.reset()


def _inputs_and_outputs(*, device: torch.device, **kwargs: Any) -> ContinuousBatchingIOs:
    chosen = HostInputs if device.type == "tpu" else ContinuousBatchingIOs
    return chosen(device=device, **kwargs)


def _model_runner(**kwargs: Any) -> ModelRunner:
    chosen = PaddedRunner if isinstance(kwargs["inputs_and_outputs"], HostInputs) else ModelRunner
    return chosen(**kwargs)


def _warmed_up(before: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """`transformers serve` never asks for the warm-up."""

    @functools.wraps(before)
    def create(self: Any) -> Any:
        processor = before(self)
        if isinstance(processor.model_runner, PaddedRunner):
            processor.warmup(self.model)
        return processor

    return create


def _read_memory_of_tpu() -> None:
    """The cache is sized by the device's memory; Transformers would take the host's."""
    before = utils.get_device_and_memory_breakdown

    def breakdown() -> tuple[torch.device, int, int, int]:
        if torch.accelerator.current_accelerator() != torch.device("tpu"):
            return before()
        free, total = torch.tpu.mem_get_info()
        return torch.device("tpu"), total, torch.tpu.memory_reserved(), total - free

    for module in (utils, cache):
        module.get_device_and_memory_breakdown = breakdown
