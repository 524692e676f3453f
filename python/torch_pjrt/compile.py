"""`torch.compile(backend="tpu")`: an FX graph is run once through the device's own dispatch on placeholders, and the
executable that comes out is kept. There is no second lowering.

Without gradients the graph is taken as dynamo gives it: views and in-place writes are the dispatch's daily work. With
gradients AOTAutograd makes a forward and a backward graph, and each is captured the same way. A graph that cannot be
captured, since it looks at a value, runs op by op, and one log line says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torch_pjrt import _C

log = logging.getLogger("torch_pjrt.compile")

_MODES = {None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"}
# Layouts of one graph's inputs that are kept apart, such as two arguments that sometimes share memory.
_MAX_LAYOUTS = 8


def tpu_backend(
    gm: torch.fx.GraphModule,
    example_inputs: Sequence[Any],
    *,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """The dynamo backend "tpu". All of inductor's modes are accepted and mean the same here; there are no options yet,
    so a given one is a ValueError."""
    if mode not in _MODES:
        raise ValueError(f"expected a mode of {sorted(m for m in _MODES if m)}, got {mode!r}")
    if options:
        raise ValueError(f'the backend "tpu" has no options, got {sorted(options)}')
    needs_grad = any(isinstance(x, torch.Tensor) and x.requires_grad for x in example_inputs)
    if torch.is_grad_enabled() and needs_grad:
        return _with_gradients(gm, example_inputs)
    return _Replay(gm)


def touches_tpu(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> bool:
    """True when an input or a value of the graph is a tensor on tpu."""
    values = [*example_inputs, *(node.meta.get("example_value") for node in gm.graph.nodes)]
    return any(isinstance(value, torch.Tensor) and value.device.type == "tpu" for value in values)


def _with_gradients(gm: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> Callable[..., Any]:
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd

    def compile_part(part: torch.fx.GraphModule, _: Sequence[Any]) -> Callable[..., Any]:
        # AOTAutograd dropped copies where its own strides let a view do, and ours may differ. Its graphs write nothing
        # in place, so a copy there is as good as a view.
        for node in part.graph.find_nodes(op="call_function", target=torch.ops.aten.view.default):
            node.target = torch.ops.aten.reshape.default
        part.recompile()
        return make_boxed_func(_Replay(part))

    return aot_autograd(fw_compiler=compile_part, bw_compiler=compile_part)(gm, example_inputs)


# --- what the caller gets back; aliases among tensors are the capture's own care


@dataclass(frozen=True)
class _Constant:
    value: Any


@dataclass(frozen=True)
class _Result:
    number: int


@dataclass(frozen=True)
class _Input:
    number: int


_Output = _Constant | _Result | _Input


def _describe(outputs: Sequence[Any], inputs: Sequence[Any]) -> tuple[list[_Output], list[torch.Tensor]]:
    """How each output is made again, and the tensors that the program must give."""
    numbers = {id(value): number for number, value in enumerate(inputs) if isinstance(value, torch.Tensor)}
    described: list[_Output] = []
    results: list[torch.Tensor] = []
    for value in outputs:
        if id(value) in numbers:
            described.append(_Input(numbers[id(value)]))
        elif isinstance(value, torch.Tensor):
            described.append(_Result(len(results)))
            results.append(value)
        else:
            described.append(_Constant(value))
    return described, results


def _rebuild(described: Sequence[_Output], inputs: Sequence[Any], results: Sequence[torch.Tensor]) -> list[Any]:
    def find(output: _Output) -> Any:
        match output:
            case _Result(number):
                return results[number]
            case _Input(number):
                return inputs[number]
            case _Constant(value):
                return value

    return [find(output) for output in described]


# --- a graph and its executables


@dataclass
class _Program:
    capture: Any
    outputs: list[_Output]


class _Replay:
    """A compiled graph. Shapes that dynamo left open are part of the key, so each is a program of its own."""

    def __init__(self, gm: torch.fx.GraphModule) -> None:
        # forward, since a graph is no module call at which pending work starts.
        self._run = gm.forward
        self._programs: dict[Any, list[_Program]] = {}
        # Which inputs are tensors: always the same ones, and asking each costs more than a small graph.
        self._tensors: list[int] | None = None
        self._why_not = _obstacle(gm)
        self._open = any(_is_open(node.meta) for node in gm.graph.nodes if node.op == "placeholder")
        if self._why_not is not None:
            self._give_up(self._why_not)

    def __call__(self, *inputs: Any) -> Any:
        if self._why_not is None:
            if self._tensors is None:
                self._tensors = [n for n, value in enumerate(inputs) if isinstance(value, torch.Tensor)]
            tensors = [inputs[number] for number in self._tensors]
            answer = self._call_program(inputs, tensors)
            if answer is not None:
                return answer
        outputs = self._run(*inputs)
        _C.run_pending()
        return outputs

    def _call_program(self, inputs: Sequence[Any], tensors: list[torch.Tensor]) -> list[Any] | None:
        programs = self._programs.setdefault(self._key(inputs), [])
        for program in programs:
            results = program.capture(tensors)
            if results is not None:
                return _rebuild(program.outputs, inputs, results)
        if len(programs) == _MAX_LAYOUTS:
            return None
        program = self._record(inputs, tensors)
        if program is None:
            return None
        programs.append(program)
        results = program.capture(tensors)
        return None if results is None else _rebuild(program.outputs, inputs, results)

    def _key(self, inputs: Sequence[Any]) -> Any:
        if not self._open:
            return None
        return tuple(tuple(value.shape) if isinstance(value, torch.Tensor) else value for value in inputs)

    def _record(self, inputs: Sequence[Any], tensors: list[torch.Tensor]) -> _Program | None:
        elsewhere = {str(tensor.device) for tensor in tensors if tensor.device.type != "tpu"}
        if elsewhere:
            return self._give_up(f"an input is on {', '.join(sorted(elsewhere))}")
        outputs: list[_Output] = []

        def body() -> list[torch.Tensor]:
            nonlocal outputs
            with torch.no_grad():
                outputs, results = _describe(self._run(*inputs), inputs)
            return results

        try:
            return _Program(_C.Capture.record(tensors, body), outputs)
        except Exception as error:
            # Op by op the same error comes up again when it is the user's.
            return self._give_up(str(error).splitlines()[0] if str(error) else type(error).__name__)

    def _give_up(self, why: str) -> None:
        self._why_not = why
        log.warning("torch.compile: a graph runs op by op: %s", why)


def _obstacle(gm: torch.fx.GraphModule) -> str | None:
    """Why a graph cannot be captured, as far as it shows: the CPU's random numbers would become constants."""
    for node in gm.graph.nodes:
        value = node.meta.get("example_value", node.meta.get("val"))
        on_cpu = isinstance(value, torch.Tensor) and value.device.type == "cpu"
        if on_cpu and torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            return f"{node.target} draws random numbers on the CPU"
        if on_cpu and node.op == "call_function" and node.target in _CPU_RANDOM:
            return f"{node.target.__name__} draws random numbers on the CPU"
    return None


_CPU_RANDOM = {torch.rand, torch.randn, torch.randint, torch.randperm, torch.bernoulli, torch.multinomial, torch.normal}


def _is_open(meta: dict[str, Any]) -> bool:
    value = meta.get("example_value", meta.get("val"))
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in value.shape)
    return True
