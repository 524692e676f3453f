"""torch.compile(backend="tpu"): one graph is one program, with views, in-place writes, random numbers and gradients."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterator

import pytest
import torch

on = torch.compile(backend="tpu", fullgraph=True)


@pytest.fixture(autouse=True)
def fresh_dynamo() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def counts(call: Callable[[], object], name: str) -> int:
    """By how much a number of compile_stats() grows in a call."""
    torch.tpu.synchronize()
    before = torch.tpu.compile_stats()[name]
    call()
    torch.tpu.synchronize()
    return torch.tpu.compile_stats()[name] - before


def test_one_call_is_one_program() -> None:
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
    compiled = torch.compile(copy.deepcopy(net).to("tpu"), backend="tpu", fullgraph=True)
    x = torch.randn(3, 4)
    device = x.to("tpu")
    with torch.no_grad():
        torch.testing.assert_close(compiled(device).cpu(), net(x))
        torch.tpu.synchronize()
        assert counts(lambda: compiled(device), "executions") == 1
        assert counts(lambda: compiled(device + 1), "compiles") <= 1


def test_it_is_the_default_for_tensors_on_tpu() -> None:
    torch.tpu.init()
    compiled = torch.compile(lambda x: (x * 3 + 1).sum(), fullgraph=True)
    x = torch.ones(4, device="tpu")
    assert compiled(x).item() == 16
    assert counts(lambda: compiled(x), "executions") == 1
    assert "tpu" in torch._dynamo.list_backends()


def test_in_place_writes_and_aliases() -> None:
    @on
    def f(a: torch.Tensor, b: torch.Tensor) -> tuple[object, ...]:
        a.add_(1)
        b[1:].mul_(2)
        c = b * 3
        return a, a.view(-1), c, c[1:], 7, b[0]

    a, b = torch.ones(2, 2, device="tpu"), torch.arange(4.0, device="tpu")
    with torch.no_grad():
        for turn in (1, 2):
            same, flat, c, tail, seven, head = f(a, b)
            assert a.tolist() == [[1 + turn] * 2] * 2 and b.tolist() == [0, 2**turn, 2 * 2**turn, 3 * 2**turn]
            assert same is a and flat.data_ptr() == a.data_ptr() and seven == 7
            assert c.tolist() == [3 * value for value in b.tolist()] and head.tolist() == 0
            flat[0] = 100.0
            assert a[0, 0].item() == 100
            a[0, 0] = 1.0 + turn
            c[1] = -5.0
            assert tail[0].item() == -5


def test_arguments_that_share_memory() -> None:
    @on
    def f(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a.add_(1)
        return b * 2

    x, y = torch.zeros(3, device="tpu"), torch.zeros(3, device="tpu")
    assert f(x, y).tolist() == [0, 0, 0] and x.tolist() == [1, 1, 1]
    z = torch.zeros(4, device="tpu")
    for turn in (1, 2):
        assert f(z[:3], z[1:]).tolist() == [2 * turn, 2 * turn, 0]
        assert z.tolist() == [turn, turn, turn, 0]


def test_other_shapes_are_other_programs() -> None:
    compiled = torch.compile(lambda x: x.square().sum(0), backend="tpu")
    for rows in (2, 3, 4, 5, 3):
        assert compiled(torch.full((rows, 2), 2.0, device="tpu")).tolist() == [4 * rows, 4 * rows]


def test_random_numbers_differ_from_call_to_call_and_reproduce() -> None:
    @on
    def f(x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.dropout(x, 0.5)

    x = torch.ones(256, device="tpu")
    torch.manual_seed(0)
    first, second = f(x), f(x)
    assert not torch.equal(first.cpu(), second.cpu())
    torch.manual_seed(0)
    assert torch.equal(first.cpu(), f(x).cpu()) and torch.equal(second.cpu(), f(x).cpu())


def test_random_numbers_of_the_cpu_are_no_constants(caplog: pytest.LogCaptureFixture) -> None:
    compiled = torch.compile(lambda x: x + torch.rand(8).to("tpu"), backend="tpu")
    x = torch.zeros(8, device="tpu")
    with caplog.at_level(logging.WARNING, "torch_pjrt"):
        assert not torch.equal(compiled(x).cpu(), compiled(x).cpu())
    assert "draws random numbers on the CPU" in caplog.text


def test_a_look_at_a_value_means_op_by_op(caplog: pytest.LogCaptureFixture) -> None:
    from torch_pjrt.compile import tpu_backend

    class Looks(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor]:
            return (x * x.sum().item(),)

    graph = torch.fx.symbolic_trace(Looks())
    x = torch.ones(3, device="tpu")
    with caplog.at_level(logging.WARNING, "torch_pjrt"), torch.no_grad():
        run = tpu_backend(graph, [x])
        assert run(x)[0].tolist() == [3, 3, 3]
        assert run(x * 2)[0].tolist() == [12, 12, 12]
    assert caplog.text.count("runs op by op") == 1


def test_training_equals_the_cpus() -> None:
    torch.manual_seed(0)
    host = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.LayerNorm(16), torch.nn.Linear(16, 1))
    device = copy.deepcopy(host).to("tpu")
    compiled = torch.compile(device, backend="tpu")
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    losses: dict[str, list[float]] = {"cpu": [], "tpu": []}
    for model, parameters, where in ((host, host, "cpu"), (compiled, device, "tpu")):
        optimizer = torch.optim.SGD(parameters.parameters(), lr=0.1)
        for _ in range(5):
            loss = torch.nn.functional.mse_loss(model(x.to(where)), y.to(where))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            losses[where].append(loss.item())
    assert losses["tpu"] == pytest.approx(losses["cpu"], rel=1e-4)
    assert losses["tpu"][-1] < losses["tpu"][0]


def test_wrong_mode_and_options() -> None:
    from torch_pjrt.compile import tpu_backend

    graph = torch.fx.symbolic_trace(torch.nn.Identity())
    with pytest.raises(ValueError, match="expected a mode of"):
        tpu_backend(graph, [], mode="fastest")
    with pytest.raises(ValueError, match="has no options"):
        tpu_backend(graph, [], options={"x": 1})


def test_an_error_of_the_user_is_his() -> None:
    compiled = torch.compile(lambda x, i: x[i], backend="tpu")
    with pytest.raises((RuntimeError, IndexError)):
        compiled(torch.ones(3, device="tpu"), torch.tensor([5], device="tpu")).tolist()
