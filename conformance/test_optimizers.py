"""optim_db: parameters after some steps of each optimizer, in each of its forms."""

from __future__ import annotations

from typing import Any

import torch
from case import Compared, Result, case
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_optimizers import optim_db, optims

STEPS = 4


def parameters_after_steps(info: Any, options: dict[str, Any], device: str) -> list[torch.Tensor]:
    torch.manual_seed(0)
    start = [torch.randn(4, 3), torch.randn(5), torch.randn(2, 3, 2)]
    if info.optim_cls.__name__ == "Muon":
        start = start[:1]
    parameters = [torch.nn.Parameter(x.to(device)) for x in start]
    lr = options.get("lr")
    if isinstance(lr, torch.Tensor):
        options = {**options, "lr": lr.clone().to(device)}
    optimizer = info.optim_cls(parameters, **options)
    gradients = torch.Generator().manual_seed(1)

    def step() -> torch.Tensor:
        optimizer.zero_grad()
        loss = sum((parameter - 1).square().sum() for parameter in parameters)
        loss.backward()
        return loss

    for _ in range(STEPS):
        if info.step_requires_closure:  # searches along a line: it needs a function and its own gradient
            optimizer.step(step)
            continue
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=gradients).to(device)
        optimizer.step()
    return parameters


class TestOptimizers(Compared):
    @optims([info for info in optim_db if not info.only_supports_sparse_grads], dtypes=[torch.float32])
    def test_steps(self, device: str, dtype: torch.dtype, optim_info: Any) -> None:
        name = optim_info.optim_cls.__name__
        forms = [{}, *({form: True} for form in optim_info.supported_impls if form in ("foreach", "fused"))]
        with case("optimizer", name, dtype), self.together() as results:
            for sample in optim_info.optim_inputs_func(device="cpu"):
                for form in forms:
                    options = {**sample.kwargs, **form}
                    try:
                        expected = parameters_after_steps(optim_info, dict(options), "cpu")
                    except Exception as error:
                        with self.assertRaises(type(error)):
                            parameters_after_steps(optim_info, dict(options), "tpu")
                        continue
                    results.append(Result(parameters_after_steps(optim_info, dict(options), "tpu"), expected))


instantiate_device_type_tests(TestOptimizers, globals(), only_for=("privateuse1",))
