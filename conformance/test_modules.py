"""module_db: results and gradients of torch.nn's modules, in training and evaluation."""

from __future__ import annotations

import copy
import functools
from typing import Any

import torch
from case import Compared, Result, case, is_random, move, tensors_of
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_modules import module_db, modules

DTYPES = (torch.float32, torch.bfloat16, torch.float64)


def call(module: torch.nn.Module, inputs: Any) -> tuple[Any, list[torch.Tensor | None]]:
    """The result, and the gradients of its sum by inputs and parameters."""
    args, kwargs = inputs
    torch.manual_seed(0)
    result = module(*args, **kwargs)
    results = [y for y in tensors_of(result) if y.requires_grad]
    wanted = [x for x in (*tensors_of(inputs), *module.parameters()) if x.requires_grad]
    if not results or not wanted:
        return result, []
    torch.manual_seed(1)
    cotangents = [torch.randn(y.shape, dtype=y.dtype).to(y.device) for y in results]
    return result, list(torch.autograd.grad(results, wanted, cotangents, allow_unused=True))


def precisely(start: torch.nn.Module, inputs: Any) -> Any:
    module = copy.deepcopy(start).double()
    return call(module, move(inputs, "cpu", wider=True)), dict(module.named_buffers())


class TestModules(Compared):
    @modules([info for info in module_db if not info.is_lazy], allowed_dtypes=DTYPES)
    def test_module(self, device: str, dtype: torch.dtype, module_info: Any, training: bool) -> None:
        name = module_info.formatted_name + (".train" if training else ".eval")
        with case("module", name, dtype), self.together() as results:
            torch.manual_seed(0)
            for sample in module_info.module_inputs_func(
                module_info, device="cpu", dtype=dtype, requires_grad=True, training=training
            ):
                made, given = sample.constructor_input, sample.forward_input
                module = module_info.module_cls(*made.args, **made.kwargs).to(dtype).train(training)
                ours = copy.deepcopy(module).to("tpu")
                inputs = (given.args, given.kwargs)
                start = copy.deepcopy(module)
                expected = call(module, move(inputs, "cpu"))
                other = copy.deepcopy(start)
                random = is_random(name, lambda other=other, inputs=inputs: other(*inputs[0], **inputs[1]), expected[0])
                got = call(ours, move(inputs, "tpu"))
                precise = functools.partial(precisely, start, inputs)
                results.append(
                    Result((got, dict(ours.named_buffers())), (expected, dict(module.named_buffers())), random, precise)
                )


instantiate_device_type_tests(TestModules, globals(), only_for=("privateuse1",))
