"""Memory limits, forked workers, threads and the immediate mode."""

from __future__ import annotations

import gc
import random
import threading

import torch
from conftest import Child

OUT_OF_MEMORY = """
import torch
x = torch.ones(2 << 20, device="tpu").add_(1)
try:
    y = [(x * k).relu_() for k in range(40)]
    torch.tpu.synchronize()
    [t.sum().item() for t in y]
    print("nothing raised")
except torch.OutOfMemoryError as error:
    print(" out of memory." in str(error))
y = None
print(x.sum().item())
"""


def test_out_of_memory_is_raised_and_the_process_goes_on(child: Child) -> None:
    done = child(OUT_OF_MEMORY, TORCH_PJRT_MEMORY_LIMIT="64MiB")
    assert done.stdout.split() == ["True", str(float(4 << 20))], done.stderr


def test_the_immediate_mode_runs_every_op(child: Child) -> None:
    count = "print(torch.tpu.compile_stats()['executions'])"
    code = f"import torch; x = torch.ones(3).to('tpu'); y = x + 1; z = y * y; {count}"
    assert int(child(code, TORCH_PJRT_SYNC="1").stdout) >= 2
    assert int(child(code, TORCH_PJRT_SYNC=None).stdout) == 0


class Rows(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 16

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((4,), float(index))


class TouchesTheDevice(Rows):
    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.ones(4, device="tpu")


def test_forked_workers_feed_the_device_and_must_not_touch_it() -> None:
    torch.tpu.init()
    options = {"batch_size": 4, "num_workers": 2, "multiprocessing_context": "fork"}
    loader = torch.utils.data.DataLoader(Rows(), pin_memory=True, persistent_workers=True, **options)
    for _ in range(2):
        total = sum(batch.to("tpu", non_blocking=True).sum().item() for batch in loader)
        assert total == 4 * sum(range(16))
    try:
        next(iter(torch.utils.data.DataLoader(TouchesTheDevice(), **options)))
    except RuntimeError as error:
        assert "forked subprocess" in str(error)
    else:
        raise AssertionError("a forked worker used the device")


def test_threads_and_garbage_collection_make_no_new_programs() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 8)).to("tpu")
    failures: list[BaseException] = []

    def work(seed: int, steps: int) -> None:
        dice = random.Random(seed)
        try:
            for _ in range(steps):
                x = torch.ones(2, 8).to("tpu")
                with torch.no_grad():
                    y = model(x)
                # Garbage in a cycle dies only when the collector comes by.
                cycle = [y * 2]
                cycle.append(cycle)
                if dice.random() < 0.3:
                    gc.collect()
                assert y.sum().isfinite().item()
        except BaseException as error:
            failures.append(error)

    def on_four_threads(steps: int) -> None:
        threads = [threading.Thread(target=work, args=(seed, steps)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    on_four_threads(20)
    before = torch.tpu.compile_stats()["compiles"]
    on_four_threads(40)
    assert not failures, failures
    assert torch.tpu.compile_stats()["compiles"] == before
