"""A model's loss and gradients on tpu against those on the CPU."""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch


def objective(output) -> torch.Tensor:
    """The loss, or something smooth of the first floating results."""
    if output.get("loss") is not None:
        return output.loss
    for name in ("logits", "pred_masks", "last_hidden_state"):
        if output.get(name) is not None:
            return output[name].float().sigmoid().mean()
    raise AssertionError(list(output))


def gradients(network: torch.nn.Module, batch: dict) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    loss = objective(network(**batch))
    loss.backward()
    return loss.detach().cpu(), {n: p.grad.cpu() for n, p in network.named_parameters() if p.grad is not None}


def on_both(make: Callable[[], torch.nn.Module]) -> tuple[torch.nn.Module, torch.nn.Module]:
    torch.manual_seed(0)
    network = make().eval()  # without dropout; gradients are wanted all the same
    return network, copy.deepcopy(network).to("tpu")


def compare(make: Callable[[], torch.nn.Module], batch: dict) -> None:
    cpu, tpu = on_both(make)
    expected_loss, expected = gradients(cpu, batch)
    moved = {k: v.to("tpu") if isinstance(v, torch.Tensor) else v for k, v in batch.items()}
    torch.tpu.reset_stats()
    loss, got = gradients(tpu, moved)
    assert torch.tpu.fallback_stats() == {}
    assert torch.tpu.decomposition_stats() == {}
    torch.testing.assert_close(loss, expected_loss, rtol=1e-4, atol=1e-5)
    assert got.keys() == expected.keys()
    largest = max(gradient.abs().max().item() for gradient in expected.values())
    for name, gradient in expected.items():
        # Relative to the parameter's largest gradient: sums run in another order. Some are nothing but rounding, such
        # as those of a key's bias.
        scale = max(gradient.abs().max().item(), 1e-3 * largest)
        torch.testing.assert_close(
            got[name] / scale, gradient / scale, rtol=1e-3, atol=1e-3, msg=lambda m, n=name: n + m
        )
