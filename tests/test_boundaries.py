"""Where pending work starts by itself: one program is one forward, one backward or one update."""

from __future__ import annotations

import sys

import pytest
import torch
from torch_pjrt import _C, boundaries


class Runs:
    """Counts how often pending work was started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        run = _C.run_pending

        def count_and_run() -> None:
            self.count += 1
            run()

        monkeypatch.setattr(_C, "run_pending", count_and_run)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    torch.tpu.init()
    torch.tpu.synchronize()
    return Runs(monkeypatch)


def model(device: str = "tpu") -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.Sequential(torch.nn.GELU(), torch.nn.Linear(8, 4)), torch.nn.LayerNorm(4)
    ).to(device)


def test_an_outermost_call_starts_work_at_its_ends(runs: Runs) -> None:
    net, x = model(), torch.ones(2, 4).to("tpu")
    with torch.no_grad():
        net(x)
        assert runs.count == 2
        net(net(x))
        assert runs.count == 6
    with torch.inference_mode():
        net(x)
    assert runs.count == 8


def test_one_forward_is_one_program() -> None:
    net, x = model(), torch.ones(2, 4).to("tpu")
    torch.tpu.synchronize()
    with torch.no_grad():
        net(x)
        torch.tpu.synchronize()
        before = torch.tpu.compile_stats()
        for _ in range(5):
            x = net(x)
        torch.tpu.synchronize()
    after = torch.tpu.compile_stats()
    assert after["executions"] - before["executions"] == 5
    assert after["compiles"] == before["compiles"]


def test_with_gradients_a_call_starts_nothing(runs: Runs) -> None:
    model()(torch.ones(2, 4).to("tpu"))
    assert runs.count == 0


def test_a_module_elsewhere_starts_nothing(runs: Runs) -> None:
    with torch.no_grad():
        model("cpu")(torch.ones(2, 4))
        torch.nn.Identity()(torch.ones(2, 4).to("tpu"))
    assert runs.count == 0


def test_backward_and_step_start_work(runs: Runs) -> None:
    net, x = model(), torch.ones(2, 4).to("tpu")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    net(x).sum().backward()
    assert runs.count == 1
    optimizer.step()
    assert runs.count == 2
    torch.autograd.grad(net(x).sum(), list(net.parameters()))
    assert runs.count == 3


class Checkpointed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = model()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.utils.checkpoint.checkpoint(self.net, x, use_reentrant=True)


def test_a_reentrant_checkpoint_belongs_to_its_forward_and_backward(runs: Runs) -> None:
    x = torch.ones(2, 4).to("tpu").requires_grad_()
    Checkpointed()(x).sum().backward()
    assert runs.count == 1 and x.grad is not None


def test_a_part_without_gradients_belongs_to_its_forward(runs: Runs) -> None:
    class Frozen(Checkpointed):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.no_grad():
                return self.net(x)

    Frozen()(torch.ones(2, 4).to("tpu"))
    assert runs.count == 0


def test_a_step_is_three_programs_at_most() -> None:
    net, x = model(), torch.ones(2, 4).to("tpu")
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def step() -> None:
        net(x).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    for _ in range(3):
        step()
    torch.tpu.synchronize()
    before = torch.tpu.compile_stats()
    for _ in range(4):
        step()
    torch.tpu.synchronize()
    after = torch.tpu.compile_stats()
    assert after["executions"] - before["executions"] <= 12
    assert after["compiles"] == before["compiles"]


def test_a_call_that_raises_leaves_no_trace(runs: Runs) -> None:
    net = model()
    with torch.no_grad():
        with pytest.raises(RuntimeError):
            net(torch.ones(2, 5).to("tpu"))
        assert not boundaries._place.inside
        runs.count = 0
        net(torch.ones(2, 4).to("tpu"))
    assert runs.count == 2


def test_dynamo_sees_through_the_wrapper() -> None:
    graphs: list[torch.fx.GraphModule] = []

    def backend(gm: torch.fx.GraphModule, example_inputs: list[torch.Tensor]):
        graphs.append(gm)
        return gm.forward

    net, x = model("cpu"), torch.ones(2, 4)
    for compiled in (torch.compile(net, backend=backend, fullgraph=True),):
        with torch.no_grad():
            assert torch.allclose(compiled(x), net(x))
    assert len(graphs) == 1


def test_tracers_see_through_the_wrapper(runs: Runs) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    net, x = model("cpu"), torch.ones(2, 4)
    with torch.no_grad():
        assert any(node.target is torch.ops.aten.gelu.default for node in make_fx(net)(x).graph.nodes)
        assert torch.export.export(net, (x,)).graph.nodes
        torch.jit.trace(net, x)
    assert runs.count == 0


def test_hooks_and_compiled_modules_still_run(runs: Runs) -> None:
    net, x = model(), torch.ones(2, 4).to("tpu")
    seen = []
    net.register_forward_hook(lambda module, args, output: seen.append(output.shape))
    net[0].register_forward_pre_hook(lambda module, args: seen.append("pre"))
    with torch.no_grad():
        net(x)
    assert seen == ["pre", torch.Size([2, 4])]


def test_a_submodules_call_has_no_frame_more_than_torchs() -> None:
    torch.tpu.init()
    leaf = torch.nn.Identity()
    frames: dict[object, list[str]] = {}
    boundaries._place.inside = True
    try:
        for call in (boundaries._call_before, boundaries._module_call):
            seen = frames.setdefault(call, [])
            torch.nn.Module.__call__ = call
            sys.setprofile(lambda frame, event, _, seen=seen: seen.append(event))
            leaf(1)
            sys.setprofile(None)
    finally:
        sys.setprofile(None)
        boundaries._place.inside = False
        torch.nn.Module.__call__ = boundaries._module_call
    ours, torchs = frames[boundaries._module_call], frames[boundaries._call_before]
    assert ours.count("call") <= torchs.count("call")
