"""The device below torch.tpu: threads and streams, generators, autocast, several devices, late errors, growth."""

from __future__ import annotations

import gc
import random
import threading

import pytest
import torch
from conftest import Child


def stats(name: str) -> int:
    return torch.tpu.compile_stats()[name]


# --- threads and streams


def test_threads_have_streams_of_their_own() -> None:
    main = torch.accelerator.current_stream().stream_id
    seen: list[int] = []
    both = threading.Barrier(2)

    def look() -> None:
        both.wait()
        seen.append(torch.accelerator.current_stream().stream_id)
        both.wait()

    threads = [threading.Thread(target=look) for _ in range(2)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert main == 0 and len({main, *seen}) == 3


def test_backward_joins_the_forwards_graph() -> None:
    """Autograd's thread takes the stream of the forward: one cut at the end runs both."""
    w = torch.ones(4, 4, device="tpu", requires_grad=True)
    torch.autograd.backward((w * w).sum())
    w.grad = None
    torch.tpu.synchronize()
    before = stats("executions")
    (w * 3 * w).sum().backward()
    assert torch.equal(w.grad.cpu(), torch.full((4, 4), 6.0))
    assert stats("executions") - before <= 2


def test_values_made_by_a_thread_are_read_by_another() -> None:
    made: list[torch.Tensor] = []
    thread = threading.Thread(target=lambda: made.append(torch.ones(3, device="tpu") * 5))
    thread.start()
    thread.join()
    assert (made[0] + 1).tolist() == [6.0, 6.0, 6.0]


def test_synchronize_runs_what_other_threads_left() -> None:
    made: list[torch.Tensor] = []
    base = torch.ones(7, device="tpu").cpu().to("tpu")
    thread = threading.Thread(target=lambda: made.append(base * 11))
    thread.start()
    thread.join()
    before = stats("executions")
    torch.tpu.synchronize()
    assert stats("executions") == before + 1
    assert made[0].tolist() == [11.0] * 7 and stats("executions") == before + 1


def test_threads_with_random_collection_make_no_new_programs() -> None:
    w = torch.randn(16, 16).to("tpu")

    def step(seed: int, rounds: int, out: dict[int, list[float]]) -> None:
        x = torch.full((16, 16), float(seed)).to("tpu")
        kept: list[torch.Tensor] = []
        rng = random.Random(seed)
        results = []
        for _ in range(rounds):
            y = torch.tanh(x @ w) + x
            z = y.softmax(-1)
            if rng.random() < 0.3:
                kept.append(y)
            if rng.random() < 0.3:
                kept.clear()
                gc.collect()
            results.append(z.sum().item())
        out[seed] = results

    def run(rounds: int) -> dict[int, list[float]]:
        out: dict[int, list[float]] = {}
        threads = [threading.Thread(target=step, args=(seed, rounds, out)) for seed in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return out

    first = run(8)
    before = stats("compiles")
    assert run(8) == first
    assert stats("compiles") == before
    assert all(abs(v - 16) < 1e-3 for values in first.values() for v in values)


def test_streams_and_events_order_work() -> None:
    side = torch.Stream(device="tpu")
    assert side.device.type == "tpu" and side != torch.accelerator.current_stream()
    with side:
        assert torch.accelerator.current_stream() == side
        x = torch.ones(3, device="tpu") * 2
        event = side.record_event()
    assert torch.accelerator.current_stream() != side
    torch.accelerator.current_stream().wait_event(event)
    assert (x + 1).sum().item() == 9
    event.synchronize()
    assert event.query() and side.query()
    side.synchronize()
    first, last = torch.Event("tpu", enable_timing=True), torch.Event("tpu", enable_timing=True)
    first.record()
    torch.ones(64, 64, device="tpu") @ torch.ones(64, 64, device="tpu")
    last.record()
    assert first.elapsed_time(last) >= 0
    with pytest.raises((RuntimeError, ValueError), match="enable_timing"):
        torch.Event("tpu").elapsed_time(last)
    x.record_stream(side)


def test_accelerator_answers() -> None:
    assert torch.accelerator.is_available() and torch.accelerator.current_accelerator().type == "tpu"
    assert torch.accelerator.device_count() == torch.tpu.device_count()
    assert torch.accelerator.current_device_index() == 0
    free, total = torch.accelerator.get_memory_info()
    assert 0 < free <= total
    x = torch.ones(1 << 16).to("tpu")
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.memory_allocated() == torch.tpu.memory_allocated() >= 1 << 18
    assert torch.accelerator.max_memory_allocated() >= torch.accelerator.memory_allocated()
    assert torch.accelerator.memory_reserved() >= x.nbytes
    torch.accelerator.reset_accumulated_memory_stats()
    torch.accelerator.empty_cache()
    torch.accelerator.synchronize()
    capability = torch.accelerator.get_device_capability()
    assert torch.bfloat16 in capability["supported_dtypes"] and torch.qint8 not in capability["supported_dtypes"]


def test_several_devices(child: Child) -> None:
    code = """
import torch
assert torch.tpu.device_count() == 3
x = torch.arange(4.0, device="tpu:1")
assert x.device.index == 1 and (x * 2).device.index == 1
y = (x + 1).to("tpu:2")
assert y.device.index == 2 and y.tolist() == [1, 2, 3, 4]
z = torch.empty(2, 4, device="tpu:0").copy_(y)
assert z[1].tolist() == [1, 2, 3, 4] and x.tolist() == [0, 1, 2, 3]
assert torch.zeros(2, device="tpu:1").to("tpu:2").device.index == 2
with torch.tpu.device(1):
    assert torch.ones(1, device="tpu").device.index == 1
try:
    x + y
    raise SystemExit("two devices were added")
except RuntimeError as error:
    assert "same device" in str(error), error
w = torch.ones(3, device="tpu:2", requires_grad=True)
(w.to("tpu:0") * 3).sum().backward()
assert w.grad.device.index == 2 and w.grad.tolist() == [3, 3, 3]
g = torch.Generator(device="tpu:1")
assert g.device == torch.device("tpu", 1)
assert torch.rand(2, device="tpu:1", generator=g).device.index == 1
assert torch.tpu.memory_allocated(2) > 0 and torch.tpu.memory_allocated(1) > 0
torch.tpu.synchronize(1)
print("fine")
"""
    result = child(code, TORCH_PJRT_PLUGIN="cpu", TORCH_PJRT_CPU_DEVICES="3")
    assert result.stdout.strip().endswith("fine"), result.stderr


# --- generators


def test_a_generator_on_tpu() -> None:
    g = torch.Generator(device="tpu")
    assert g.device.type == "tpu" and g.manual_seed(7) is g and g.initial_seed() == 7
    a = torch.randn(5, device="tpu", generator=g)
    state = g.get_state()
    b = torch.randn(5, device="tpu", generator=g)
    assert state.device.type == "cpu" and state.dtype == torch.uint8
    twin = g.clone_state() if hasattr(g, "clone_state") else None
    g.set_state(state)
    assert torch.equal(torch.randn(5, device="tpu", generator=g), b) and not torch.equal(a, b)
    if twin is not None:
        assert torch.equal(twin.get_state(), g.get_state())
    g.manual_seed(7)
    assert torch.equal(torch.randn(5, device="tpu", generator=g), a)
    assert g.seed() == g.initial_seed()
    with pytest.raises(RuntimeError, match="has 16 bytes"):
        g.set_state(torch.zeros(3, dtype=torch.uint8))
    with pytest.raises(TypeError):
        g.set_state(torch.zeros(16))
    with pytest.raises(RuntimeError, match="device type for generator"):
        torch.randn(5, device="tpu", generator=torch.Generator())


def test_generators_do_not_touch_each_other(default_seed: None) -> None:
    torch.manual_seed(3)
    want = torch.rand(4, device="tpu").cpu()
    torch.manual_seed(3)
    torch.rand(100, device="tpu", generator=torch.Generator(device="tpu"))
    assert torch.equal(torch.rand(4, device="tpu").cpu(), want)


# --- autocast


def test_autocast_chooses_dtypes_as_pytorch_does() -> None:
    a, b = torch.randn(4, 4, device="tpu"), torch.randn(4, 4, device="tpu")
    with torch.autocast("tpu", dtype=torch.bfloat16):
        assert (a @ b).dtype == torch.bfloat16
        assert torch.nn.functional.linear(a, b).dtype == torch.bfloat16
        assert (a @ b).softmax(-1).dtype == torch.float32
        assert (a @ b).exp().dtype == torch.float32
        assert (a @ b).sum().dtype == torch.float32
        assert torch.addcmul(a, a @ b, b).dtype == torch.float32
        assert (a + (a @ b)).dtype == torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            torch.nn.functional.binary_cross_entropy(a.sigmoid(), b.sigmoid())
        with torch.autocast("tpu", enabled=False):
            assert (a @ b).dtype == torch.float32
    assert (a @ b).dtype == torch.float32


def test_attention_is_one_piece() -> None:
    q, k, v = (torch.randn(1, 2, 5, 8).to("tpu") for _ in range(3))
    torch.tpu.reset_stats()
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    want = torch.nn.functional.scaled_dot_product_attention(q.cpu(), k.cpu(), v.cpu(), is_causal=True)
    assert torch.allclose(out.cpu(), want, atol=1e-5)
    assert torch.tpu.decomposition_stats() == {} and torch.tpu.fallback_stats() == {}
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        plain = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(plain.cpu(), want, atol=1e-5)


# --- errors, growth


def test_late_errors_name_the_users_line(child: Child) -> None:
    code = """
import torch
x = torch.arange(4, device="tpu")
y = x[torch.tensor([9], device="tpu") + x[:1]]  # line 4
try:
    y.cpu()
    print("nothing was raised")
except IndexError as error:
    print(error)
"""
    result = child(code, TORCH_PJRT_LOC="1")
    assert "recorded at <string>:4 in <module>" in result.stdout, result.stdout + result.stderr
    result = child(code, TORCH_PJRT_LOC="0")
    assert "recorded at" not in result.stdout and "nothing" not in result.stdout, result.stdout + result.stderr


def test_out_of_memory_is_pytorchs_and_the_process_goes_on(child: Child) -> None:
    code = """
import torch
try:
    x = torch.ones(1 << 20).to("tpu")
    y = torch.cat([x + i for i in range(64)])
    y.sum().item(), y[0].item()
    print("nothing was raised")
except torch.OutOfMemoryError as error:
    assert " out of memory." in str(error), error
    print("refused")
y = None
z = torch.ones(1 << 18).to("tpu") + 1
print(z.sum().item())
"""
    result = child(code, TORCH_PJRT_MEMORY_LIMIT="16MiB")
    assert result.stdout.split() == ["refused", "524288.0"], result.stdout + result.stderr


def test_a_loop_that_never_looks_does_not_grow() -> None:
    x = torch.ones(8, 8).to("tpu")
    w = torch.full((8, 8), 0.1).to("tpu")

    def steps(n: int) -> tuple[int, ...]:
        nonlocal x
        for _ in range(n):
            x = torch.tanh(x @ w)
            torch.tpu.mark_step()
        torch.tpu.synchronize()
        return tuple(stats(name) for name in ("live_nodes", "buffers", "programs"))

    first = steps(50)
    assert steps(1000) == first


def test_addresses_are_used_again() -> None:
    x = torch.zeros(1000, device="tpu")
    address = x.data_ptr()
    del x
    assert torch.zeros(1000, device="tpu").data_ptr() == address


def test_what_tpu_cannot_hold_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="ComplexHalf"):
        torch.empty(2, dtype=torch.complex32, device="tpu")
    for make in (
        lambda: torch.sparse_coo_tensor([[0]], [1.0], (2,), device="tpu", check_invariants=True),
        lambda: torch.zeros(2, 2).to_sparse().to("tpu"),
        lambda: torch.zeros(2, 2, device="tpu").to_sparse(),
        lambda: torch.sparse.mm(torch.eye(2).to_sparse(), torch.eye(2, device="tpu")),
    ):
        with pytest.raises(NotImplementedError, match="no sparse tensors"):
            make()
    with pytest.raises(NotImplementedError, match="no quantized tensors"):
        torch.quantize_per_tensor(torch.zeros(2), 0.1, 0, torch.qint8).to("tpu")
    with pytest.raises(NotImplementedError, match="mkldnn"):
        torch.zeros(2, 2).to_mkldnn().to("tpu")
    with pytest.raises(NotImplementedError, match="no quantized tensors"):
        torch.quantize_per_tensor(torch.zeros(2, device="tpu"), 0.1, 0, torch.qint8)
    assert torch.tpu.fallback_stats() == {}


def test_the_default_dtype_decides_what_integers_become():
    x = torch.arange(1, 4, device="tpu")
    assert (x / 2).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert (x / 2).dtype == torch.float64
        assert (x * 1.5).cpu().tolist() == [1.5, 3.0, 4.5]
        assert torch.full((2,), 0.1, device="tpu").dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
