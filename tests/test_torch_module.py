"""`torch.tpu`, torch.accelerator and the registration."""

from __future__ import annotations

import threading

import pytest
import torch
from conftest import Child

NEEDED = [
    "is_available",
    "is_initialized",
    "device_count",
    "current_device",
    "set_device",
    "device",
    "device_of",
    "synchronize",
    "Stream",
    "Event",
    "stream",
    "current_stream",
    "default_stream",
    "set_stream",
    "manual_seed",
    "manual_seed_all",
    "initial_seed",
    "get_rng_state",
    "set_rng_state",
    "get_rng_state_all",
    "set_rng_state_all",
    "default_generators",
    "empty_cache",
    "mem_get_info",
    "memory_allocated",
    "max_memory_allocated",
    "memory_reserved",
    "max_memory_reserved",
    "memory_stats",
    "memory_summary",
    "reset_peak_memory_stats",
    "get_device_name",
    "get_device_properties",
    "get_device_capability",
    "get_amp_supported_dtype",
    "is_bf16_supported",
    "_is_in_bad_fork",
    "_lazy_init",
    "set_per_process_memory_fraction",
    "compile_stats",
    "fallback_stats",
    "decomposition_stats",
    "set_sync_debug_mode",
]


@pytest.mark.parametrize("name", NEEDED)
def test_torch_tpu_has(name: str) -> None:
    assert getattr(torch.tpu, name) is not None


def test_unknown_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = torch.tpu.nothing


def test_import_torch_alone_is_enough(child: Child) -> None:
    code = "import torch, sys; print(torch.device('tpu', 0), 'torch.tpu' in sys.modules, torch.tpu.is_initialized())"
    assert child(code).stdout.strip() == "tpu:0 True False"


def test_either_import_may_come_first(child: Child) -> None:
    done = child(
        "import torch_pjrt, torch; import torch_pjrt as again; print(torch.tpu.is_available(), again.load_error)"
    )
    assert done.stdout.strip() == "True None", done.stderr


def test_import_loads_no_other_library(child: Child) -> None:
    code = """
import sys, torch
print([n for n in ("transformers", "accelerate", "torch._dynamo", "torch._decomp.decompositions") if n in sys.modules])
"""
    plain = child(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").stdout
    assert child(code).stdout == plain


def test_without_autoload_an_import_is_enough(child: Child) -> None:
    code = "import torch; print(hasattr(torch, 'tpu')); import torch_pjrt; print(torch.tpu.is_available())"
    assert child(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0").stdout.split() == ["False", "True"]


def test_torch_tpu_of_google_has_the_name(child: Child, tmp_path) -> None:
    (tmp_path / "torch_tpu.py").write_text("")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import torch; print(hasattr(torch, 'tpu'))"
    done = child(code)
    assert done.stdout.strip() == "False"
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("torch-pjrt: torch_tpu is installed and provides the device tpu")


def test_a_torch_that_does_not_fit(child: Child) -> None:
    code = "import torch; torch.__version__ = '2.99.0'; import torch_pjrt; print(torch_pjrt.load_error)"
    done = child(code, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert done.returncode == 0, done.stderr
    assert "there is no bridge to torch 2.99.0 in this installation (there is: 2.13)" in done.stdout


# --- devices


def test_devices() -> None:
    assert torch.tpu.is_available() and torch.tpu.is_initialized() and torch.tpu.why_unavailable() is None
    assert torch.tpu.device_count() >= 1 and torch.tpu.current_device() == 0
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("tpu")
    assert torch.accelerator.device_count() == torch.tpu.device_count()
    assert torch.get_device_module("tpu") is torch.tpu


def test_a_device_that_is_not_there() -> None:
    count = torch.tpu.device_count()
    for call in (torch.tpu.set_device, torch.tpu.synchronize, torch.tpu.get_device_name, torch.tpu.mem_get_info):
        with pytest.raises(RuntimeError, match=f"there is no tpu:{count}"):
            call(count)
    with pytest.raises(ValueError, match="expected a tpu device, got cpu"):
        torch.tpu.synchronize("cpu")
    with pytest.raises(TypeError, match="expected an index"):
        torch.tpu.synchronize(1.5)


def test_several_devices(child: Child) -> None:
    code = """
import torch
assert torch.tpu.device_count() == 2
with torch.tpu.device(1):
    assert torch.tpu.current_device() == 1 and torch.ones(2, device="tpu").device.index == 1
assert torch.tpu.current_device() == 0
with torch.tpu.device_of(torch.ones(1, device="tpu:1")):
    assert torch.tpu.current_device() == 1
with torch.tpu.device_of(torch.ones(1)), torch.tpu.device(None), torch.tpu.device(-1):
    assert torch.tpu.current_device() == 0
torch.tpu.set_device("tpu:1")
assert torch.accelerator.current_device_index() == 1
torch.tpu.set_device(0)
x = torch.arange(3.0, device="tpu:0").to("tpu:1")
assert x.device == torch.device("tpu:1") and x.tolist() == [0, 1, 2]
assert len(torch.tpu.default_generators) == 2 and len(torch.tpu.get_rng_state_all()) == 2
print("ok")
"""
    done = child(code, TORCH_PJRT_CPU_DEVICES="2")
    assert done.stdout.strip() == "ok", done.stderr


def test_properties() -> None:
    properties = torch.tpu.get_device_properties("tpu:0")
    assert properties.total_memory > 0 and properties.platform in ("cpu", "tpu", "cuda")
    assert properties.name == torch.tpu.get_device_name(0) == torch.tpu.get_device_name()
    assert torch.bfloat16 in torch.tpu.get_device_capability()["supported_dtypes"]
    assert torch.tpu.get_amp_supported_dtype()[0] == torch.bfloat16 and torch.tpu.is_bf16_supported()


def test_methods_of_tensors_and_modules() -> None:
    assert torch.ones(2).tpu().is_tpu and not torch.ones(2).is_tpu
    assert torch.nn.Linear(2, 2).tpu().weight.device == torch.device("tpu:0")
    assert torch.ones(2).tpu(0).device == torch.device("tpu:0")


# --- streams and events


def test_streams() -> None:
    before = torch.tpu.current_stream()
    assert before == torch.tpu.default_stream() == torch.accelerator.current_stream()
    other = torch.tpu.Stream()
    assert isinstance(other, torch.Stream) and other != before and other.device.type == "tpu"
    with torch.tpu.stream(other) as inside:
        assert inside is other and torch.tpu.current_stream() == other
        x = torch.ones(3, device="tpu") + 1
    assert torch.tpu.current_stream() == before
    before.wait_stream(other)
    assert x.tolist() == [2, 2, 2]
    with torch.tpu.stream(None):
        assert torch.tpu.current_stream() == before


def test_events_take_time() -> None:
    first, second = torch.tpu.Event(enable_timing=True), torch.tpu.Event(enable_timing=True)
    first.record()
    y = torch.ones(64, 64, device="tpu") @ torch.ones(64, 64, device="tpu")
    second.record()
    second.synchronize()
    assert second.query() and first.elapsed_time(second) > 0
    assert y[0, 0].item() == 64


# --- random numbers


def test_seeds_reproduce(default_seed: None) -> None:
    torch.manual_seed(7)
    a = torch.rand(4, device="tpu")
    torch.tpu.manual_seed(7)
    assert torch.equal(a.cpu(), torch.rand(4, device="tpu").cpu())
    assert torch.tpu.initial_seed() == 7
    state = torch.tpu.get_rng_state()
    b = torch.randn(4, device="tpu")
    torch.tpu.set_rng_state(state)
    assert torch.equal(b.cpu(), torch.randn(4, device="tpu").cpu())
    assert state.dtype == torch.uint8 and state.device.type == "cpu"
    with pytest.raises(RuntimeError):
        torch.tpu.set_rng_state(torch.zeros(3, dtype=torch.uint8))


def test_a_seed_before_the_first_use_counts(child: Child) -> None:
    code = """
import torch
torch.manual_seed(3)
print(torch.tpu.is_initialized())
print(torch.rand(2, device="tpu").tolist())
"""
    first, second = (child(code).stdout.splitlines() for _ in range(2))
    assert first == second and first[0] == "False" and len(first) == 2


def test_fork_rng(default_seed: None) -> None:
    with torch.random.fork_rng(device_type="tpu"):
        torch.tpu.manual_seed(1)
        inside = torch.rand(2, device="tpu").tolist()
    torch.tpu.manual_seed(1)
    assert torch.rand(2, device="tpu").tolist() == inside


# --- memory


def test_memory_is_what_live_tensors_need() -> None:
    torch.tpu.empty_cache()
    torch.tpu.synchronize()
    before = torch.tpu.memory_allocated()
    torch.tpu.reset_peak_memory_stats()
    x = torch.ones(1 << 20).to("tpu")
    torch.tpu.synchronize()
    assert torch.tpu.memory_allocated() - before == 4 << 20
    del x
    torch.tpu.empty_cache()
    torch.tpu.synchronize()
    assert torch.tpu.memory_allocated() == before
    assert torch.tpu.max_memory_allocated() >= before + (4 << 20)
    torch.tpu.reset_peak_memory_stats()
    assert torch.tpu.max_memory_allocated() == before
    free, total = torch.tpu.mem_get_info()
    assert 0 < free <= total == torch.tpu.get_device_properties().total_memory
    assert torch.accelerator.get_memory_info() == (free, total)
    assert torch.accelerator.memory_allocated() == before
    assert "in use" in torch.tpu.memory_summary()


def test_memory_can_be_limited(child: Child) -> None:
    code = """
import torch
x = torch.ones(1024, device="tpu")
torch.tpu.set_per_process_memory_fraction((64 << 20) / torch.tpu.get_device_properties().total_memory)
try:
    y = torch.ones(64 << 20, device="tpu") + 1
    torch.tpu.synchronize()
except torch.OutOfMemoryError as error:
    assert " out of memory." in str(error), error
    print("full")
print(x.sum().item())
"""
    done = child(code)
    assert done.stdout.split() == ["full", "1024.0"], done.stderr


def test_asking_for_memory_makes_no_client(child: Child) -> None:
    code = "import torch; print(torch.tpu.memory_allocated(), torch.tpu.memory_stats(), torch.tpu.is_initialized())"
    assert child(code).stdout.strip() == "0 {} False"


@pytest.mark.parametrize(("fraction", "error"), [(2, ValueError), (-0.1, ValueError), ("half", TypeError)])
def test_a_wrong_memory_fraction(fraction: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        torch.tpu.set_per_process_memory_fraction(fraction)


# --- statistics and switches


def test_statistics() -> None:
    stats = torch.tpu.compile_stats()
    assert {"compiles", "cache_hits", "compile_seconds", "executions", "disk_hits", "host_syncs"} <= stats.keys()
    x = torch.full((3,), 2.0, device="tpu")
    for _ in range(2):
        (x * 3 + 1).tolist()
    later = torch.tpu.compile_stats()
    assert later["executions"] > stats["executions"] and later["cache_hits"] > stats["cache_hits"]
    assert torch.tpu.fallback_stats() == {}


def test_sync_debug_mode() -> None:
    x = torch.ones(2, device="tpu")
    torch.tpu.set_sync_debug_mode("error")
    try:
        assert torch.tpu.get_sync_debug_mode() == 2
        with pytest.raises(RuntimeError, match="synchronizing"):
            x.sum().item()
    finally:
        torch.tpu.set_sync_debug_mode(0)
    assert x.sum().item() == 2
    for wrong in (3, "loud"):
        with pytest.raises(ValueError, match="expected 0, 1, 2"):
            torch.tpu.set_sync_debug_mode(wrong)


def test_a_wrong_fallback_mode() -> None:
    with pytest.raises(ValueError, match="expected"):
        torch.tpu.set_fallback_mode("sometimes")


# --- processes and threads


def test_a_forked_child_is_refused(child: Child) -> None:
    code = """
import os, torch
torch.ones(1, device="tpu").item()
child = os.fork()
if child == 0:
    try:
        torch.ones(1, device="tpu")
    except RuntimeError as error:
        os._exit(3 if torch.tpu._is_in_bad_fork() and "spawn" in str(error) else 4)
    os._exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert child(code).stdout.strip() == "3"


def test_a_forked_child_of_a_clean_parent_may_use_it(child: Child) -> None:
    code = """
import os, torch
child = os.fork()
if child == 0:
    os._exit(int(torch.ones(3, device="tpu").sum().item()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert child(code).stdout.strip() == "3"


def test_data_loader_with_forked_workers() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(12.0))
    loader = torch.utils.data.DataLoader(
        data, batch_size=4, num_workers=2, pin_memory=True, persistent_workers=True, multiprocessing_context="fork"
    )
    for _ in range(2):
        assert sum(batch.to("tpu", non_blocking=True).sum().item() for (batch,) in loader) == 66


def test_many_threads_start_one_client(child: Child) -> None:
    code = """
import threading, torch
out = []
def work(i):
    out.append(torch.full((2,), i, device="tpu").sum().item())
threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
[t.start() for t in threads], [t.join() for t in threads]
print(sorted(out))
"""
    done = child(code)
    assert done.stdout.strip() == "[0, 2, 4, 6]", done.stderr


def test_the_current_device_is_a_threads_own() -> None:
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.tpu.current_device()))
    thread.start(), thread.join()
    assert seen == [0]
