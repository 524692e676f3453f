"""torch_xla's names: they work, and no library is lured by them."""

from __future__ import annotations

from conftest import Child

GUIDE = "import torch; import torch_xla.core.xla_model as xm; import torch_xla.distributed.parallel_loader as pl;"


def ok(child: Child, code: str, **variables: str | None) -> str:
    done = child(code, **variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_guides_imports(child: Child) -> None:
    assert ok(child, GUIDE + "print(f'running on: {xm.xla_device()}')") == "running on: tpu:0"


def test_all_names_are_there(child: Child) -> None:
    names = (
        "xla_device mark_step xrt_world_size get_ordinal is_master_ordinal optimizer_step save rendezvous "
        "add_step_closure wait_device_ops get_memory_info"
    )
    code = (
        f"assert all(callable(getattr(xm, n)) for n in '{names}'.split()); print(pl.ParallelLoader, pl.MpDeviceLoader)"
    )
    ok(child, GUIDE + code)


def test_one_process(child: Child) -> None:
    code = "print(xm.xrt_world_size(), xm.get_ordinal(), xm.is_master_ordinal(), xm.rendezvous('here', b'x'))"
    assert ok(child, GUIDE + code) == "1 0 True [b'x']"


def test_find_spec_finds_nothing(child: Child) -> None:
    code = "import torch, importlib.util as u; print(u.find_spec('torch_xla'))"
    assert ok(child, code) == "None"


def test_other_parts_are_missing(child: Child) -> None:
    code = """
import torch
try:
    import torch_xla.experimental
except ModuleNotFoundError as error:
    print(error)
"""
    assert ok(child, code) == "No module named 'torch_xla.experimental'"


LIBRARIES = """
import transformers.utils, accelerate.utils, diffusers.utils.import_utils, peft.import_utils
print(
    transformers.utils.is_torch_xla_available(),
    accelerate.utils.is_torch_xla_available(),
    diffusers.utils.import_utils.is_torch_xla_available(),
    peft.import_utils.is_torch_tpu_available(),
)
"""


def test_libraries_are_not_lured(child: Child) -> None:
    assert ok(child, "import torch" + LIBRARIES, USE_TORCH_XLA=None) == "False False False False"


def test_libraries_are_not_lured_after_the_guides_imports(child: Child) -> None:
    assert ok(child, GUIDE + LIBRARIES, USE_TORCH_XLA=None) == "False False False False"


def test_libraries_are_not_lured_when_they_come_first(child: Child) -> None:
    code = "import transformers;" + LIBRARIES + GUIDE + LIBRARIES
    assert ok(child, code, USE_TORCH_XLA=None).splitlines() == ["False False False False"] * 2


def test_the_users_own_variable_lures_no_library_either(child: Child) -> None:
    code = LIBRARIES.replace("transformers.utils, ", "").replace("transformers.utils.is_torch_xla_available(),", "")
    assert ok(child, "import torch" + code, USE_TORCH_XLA="1") == "False False False"


def test_the_real_torch_xla_wins(child: Child, tmp_path) -> None:
    (tmp_path / "torch_xla.py").write_text("real = True\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import torch, torch_xla; print(torch_xla.real)"
    assert ok(child, code + "; import os; print(os.environ.get('USE_TORCH_XLA'))", USE_TORCH_XLA=None) == "True\nNone"


def test_steps(child: Child) -> None:
    code = """
import torch
device = xm.xla_device()
model = torch.nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.ones(8, 3)), batch_size=4)
seen = []
for (batch,) in pl.MpDeviceLoader(loader, device):
    assert batch.device == device
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    xm.optimizer_step(optimizer)
    xm.add_step_closure(lambda value: seen.append(value.item()), (loss,))
xm.mark_step()
xm.wait_device_ops()
assert len(seen) == 2 and seen[1] < seen[0], seen
assert len(pl.MpDeviceLoader(loader, device)) == 2
info = xm.get_memory_info(device)
assert 0 < info["bytes_used"] < info["bytes_limit"], info
"""
    ok(child, GUIDE + code)


def test_save_gives_cpu_tensors(child: Child, tmp_path) -> None:
    code = f"""
import torch
xm.save({{"a": torch.ones(2, device="tpu"), "b": [torch.zeros(1, device="tpu"), 3]}}, {str(tmp_path / "x.pt")!r})
back = torch.load({str(tmp_path / "x.pt")!r})
print(back["a"].device, back["b"])
"""
    assert ok(child, GUIDE + code) == "cpu [tensor([0.]), 3]"


def test_batches_keep_their_form(child: Child) -> None:
    code = """
import collections
import torch
Pair = collections.namedtuple("Pair", "x y")
batch = {"p": Pair(torch.ones(1), "text"), "l": [torch.ones(1), (torch.ones(1),)], "n": 3}
(moved,) = pl.MpDeviceLoader([batch], "tpu:0")
print(type(moved["p"]).__name__, moved["p"].x.device, moved["p"].y, moved["l"][1][0].device, moved["n"])
"""
    assert ok(child, GUIDE + code) == "Pair tpu:0 text tpu:0 3"


def test_todays_names(child: Child) -> None:
    code = """
import torch, torch_xla, torch_xla.runtime as xr, torch_xla.debug.metrics as met
import torch_xla.distributed.xla_multiprocessing as xmp
from torch_xla.amp import GradScaler, autocast
device = torch_xla.device()
assert torch_xla.devices()[0] == device and torch_xla.device_count() == xr.addressable_device_count() == 1
assert (xr.world_size(), xr.global_ordinal(), xr.local_ordinal(), xr.global_device_count()) == (1, 0, 0, 1)
assert xr.device_type() == "CPU" and not xr.is_spmd()
with torch_xla.step():
    x = torch.ones(3, device=device) * 2
assert torch.tpu.compile_stats()["executions"] > 0
calls = []
xmp.spawn(lambda index, word: calls.append((index, word)), ("a",))
torch_xla.launch(lambda index, word: calls.append((index, word)), args=("b",))
assert calls == [(0, "a"), (0, "b")]
try:
    xmp.spawn(print, nprocs=4)
except ValueError as error:
    print(error)
@torch_xla.compile(full_graph=True)
def looks(x):
    return x.sum().item()
try:
    looks(x)
except RuntimeError:
    print("refused")
assert torch_xla.compile(lambda x: x + 1)(x).tolist() == [3, 3, 3]
with autocast(device):
    assert (torch.ones(2, 2, device=device) @ torch.ones(2, 2, device=device)).dtype == torch.bfloat16
assert "tpu::executions" in met.counter_names() and "CompileTime" in met.metrics_report()
met.clear_all()
assert met.counter_value("tpu::compiles") == 0
try:
    torch_xla.no_such_name
except AttributeError as error:
    print(str(error)[:44])
"""
    lines = ok(child, code).splitlines()
    assert lines[0].startswith("expected nprocs of None or 1") and lines[1] == "refused"
    assert lines[2] == "torch_xla.no_such_name is not among the names"[:44]


def test_batches_are_moved_while_the_program_computes(child: Child) -> None:
    code = """
import threading, time
import torch
read, where = [], set()
class Loader:
    def __iter__(self):
        for i in range(6):
            read.append(i); where.add(threading.current_thread().name)
            yield torch.full((2,), i)
    def __len__(self):
        return 6
loop = iter(pl.MpDeviceLoader(Loader(), "tpu:0", device_prefetch_size=2))
first = next(loop)
deadline = time.time() + 10
while len(read) < 4 and time.time() < deadline:
    time.sleep(0.01)
time.sleep(0.2)
# One is used, two wait, one is in the thread's hand.
assert read == [0, 1, 2, 3], read
assert [first.tolist()[0], *(x.tolist()[0] for x in loop)] == [0, 1, 2, 3, 4, 5]
assert where == {"MpDeviceLoader"}
broken = iter(pl.MpDeviceLoader((1 // (2 - i) for i in range(4)), "tpu:0"))
assert next(broken) == 0 and next(broken) == 1
try:
    next(broken)
except ZeroDivisionError:
    print("raised")
for batch in pl.MpDeviceLoader(Loader(), "tpu:0"):
    break
del batch, loop
import gc; gc.collect()
time.sleep(0.3)
print([t.name for t in threading.enumerate() if t.name == "MpDeviceLoader"])
"""
    assert ok(child, GUIDE + code) == "raised\n[]"
