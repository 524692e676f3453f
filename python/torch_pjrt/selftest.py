"""`torch-pjrt doctor --selftest`: every family of ops against the CPU, and what a device must do besides, in the first
minutes on a new machine.

The checks run in a child process, which prints a line of JSON before and after each. When a plugin ends that process or
stands still, the check it was at has failed and another child goes on with the next one.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

SECONDS_A_CHECK = 300.0  # the slowest compiler has to be through

Compared = Callable[[str], Sequence[torch.Tensor]]
Examined = Callable[[], str]


@dataclass(frozen=True)
class Outcome:
    name: str
    passed: bool
    seconds: float
    detail: str = ""


# --- families of ops: the same function on both devices, from the same numbers


def _numbers(device: str, *sizes: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed)).to(device)


def _whole(device: str, *sizes: int, high: int = 100) -> torch.Tensor:
    return torch.randint(-high, high, sizes, generator=torch.Generator().manual_seed(1)).to(device)


def _with_gradients(function: Callable[..., torch.Tensor], *inputs: torch.Tensor) -> list[torch.Tensor]:
    """The result and the gradients of the inputs."""
    leaves = [x.detach().requires_grad_() for x in inputs]
    result = function(*leaves)
    result.square().mean().backward()
    return [result.detach(), *(x.grad for x in leaves if x.grad is not None)]


def pointwise(device: str) -> list[torch.Tensor]:
    x, y = _numbers(device, 4, 33), _numbers(device, 33, seed=1)
    return [x * y + x.tanh(), x.abs().sqrt().log1p(), x.pow(3), torch.where(x > y, x, y), x.clamp(-1, 1), x.erf()]


def integers(device: str) -> list[torch.Tensor]:
    x = _whole(device, 5, 7)
    return [x // 3, x % 7, x & 12, x << 2, x.to(torch.int32) * 3, (x > 0) ^ (x < 50), x.to(torch.uint8)]


def element_types(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 17) * 10
    types = (torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int64, torch.bool, torch.complex64)
    return [(x.to(dtype) if dtype != torch.int8 else x.clamp(-9, 9).to(dtype)) for dtype in types]


def matmul(device: str) -> list[torch.Tensor]:
    a, b = _numbers(device, 3, 17, 40), _numbers(device, 3, 40, 9, seed=1)
    return _with_gradients(torch.matmul, a, b)


def matmul_bfloat16(device: str) -> list[torch.Tensor]:
    a, b = _numbers(device, 32, 64).bfloat16(), _numbers(device, 64, 16, seed=1).bfloat16()
    return [(a @ b).float()]


def convolution(device: str) -> list[torch.Tensor]:
    x, w, t = _numbers(device, 2, 4, 9, 9), _numbers(device, 6, 2, 3, 3, seed=1), _numbers(device, 4, 3, 3, 3, seed=2)
    grouped = _with_gradients(lambda x, w: F.conv2d(x, w, stride=2, padding=1, groups=2), x, w)
    return [*grouped, *_with_gradients(lambda x, t: F.conv_transpose2d(x, t, stride=2, padding=1), x, t)]


def pooling(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 2, 3, 8, 8)
    return [
        *_with_gradients(lambda x: F.max_pool2d(x, 3, 2, 1), x),
        *_with_gradients(lambda x: F.avg_pool2d(x, 2), x),
        *_with_gradients(lambda x: F.adaptive_avg_pool2d(x, 3), x),
    ]


def normalisation(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 4, 8, 5)
    return [
        *_with_gradients(lambda x: F.layer_norm(x, (5,)), x),
        *_with_gradients(lambda x: F.group_norm(x, 4), x),
        *_with_gradients(lambda x: F.batch_norm(x, None, None, training=True), x),
        *_with_gradients(lambda x: F.rms_norm(x, (5,)), x),
    ]


def attention(device: str) -> list[torch.Tensor]:
    q, k, v = (_numbers(device, 2, 4, 12, 8, seed=seed) for seed in range(3))
    return _with_gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)


def losses(device: str) -> list[torch.Tensor]:
    x, labels = _numbers(device, 6, 10), _whole(device, 6).remainder(10)
    return [*_with_gradients(lambda x: F.cross_entropy(x, labels), x), F.kl_div(x.log_softmax(1), x.softmax(1))]


def embedding(device: str) -> list[torch.Tensor]:
    table, rows = _numbers(device, 20, 6), _whole(device, 3, 5).remainder(20)
    return _with_gradients(lambda table: F.embedding(rows, table), table)


def reductions(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 3, 50)
    return [x.sum(1), x.mean(), x.amax(0), x.argmin(1), x.var(1), x.norm(), x.logsumexp(1), x.prod(1), (x > 0).any(1)]


def sorting(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 4, 30)
    return [*x.sort(1), *x.topk(5, 1), *x.median(1), _whole(device, 40, high=5).unique(), (x > 1).nonzero()]


def gather_and_scatter(device: str) -> list[torch.Tensor]:
    x, index = _numbers(device, 6, 8), _whole(device, 6, 8).remainder(6)
    written = x.clone()
    written[index[0], 2] = 1.0
    return [
        x.gather(0, index),
        torch.zeros(6, 8, device=device).scatter_add_(0, index, x),
        torch.zeros(6, 8, device=device).scatter_reduce(0, index, x, "amax", include_self=False),
        x.index_put((index[0, :6],), x, accumulate=True),
        x[index[:, 0]],
        written,
    ]


def cumulative(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 3, 20)
    return [x.cumsum(1), x.cumprod(1), *x.cummax(1), x.logcumsumexp(1)]


def resampling(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 1, 2, 5, 5)
    modes = ("nearest", "bilinear", "bicubic")
    return [r for mode in modes for r in _with_gradients(lambda x, m=mode: F.interpolate(x, (8, 7), mode=m), x)]


def fourier(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 4, 16)
    return [torch.view_as_real(torch.fft.rfft(x)), torch.fft.irfft(torch.fft.rfft(x)), torch.fft.fft2(x).abs()]


def linear_algebra(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 2, 5, 5)
    spd = x @ x.mT + 5 * torch.eye(5, device=device)
    lower = torch.linalg.cholesky(spd)
    return [
        lower,
        torch.linalg.solve_triangular(lower, x, upper=False),
        torch.linalg.solve(spd, x),
        x.tril().diagonal(),
    ]


def views_and_writes(device: str) -> list[torch.Tensor]:
    x = _numbers(device, 6, 6)
    rows = x[1:4]
    rows.mul_(2)
    x.t()[0].add_(1)
    x.view(-1)[::5].zero_()
    return [x, rows, x.unfold(0, 3, 2), x.flip(1), x.roll(2, 0)]


def recurrent(device: str) -> list[torch.Tensor]:
    torch.manual_seed(0)
    lstm = torch.nn.LSTM(4, 6, batch_first=True).to(device)
    return [lstm(_numbers(device, 2, 7, 4))[0].detach()]


def training(device: str) -> list[torch.Tensor]:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    losses = []
    for step in range(5):
        loss = F.mse_loss(model(_numbers(device, 12, 8, seed=step)), _numbers(device, 12, 4, seed=step + 9))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.detach())
    return losses


def random_numbers(device: str) -> list[torch.Tensor]:
    """Not the CPU's stream, so the moments are compared, and a seed with itself."""
    draws = []
    for _ in range(2):
        torch.manual_seed(7)
        draws.append(torch.randn(1 << 16, device=device))
    mean, std = draws[0].mean().abs() < 0.02, (draws[0].std() - 1).abs() < 0.02
    return [mean, std, (draws[0] == draws[1]).all(), torch.rand(9, device=device) < 1]


FAMILIES: tuple[Compared, ...] = (
    pointwise,
    integers,
    element_types,
    matmul,
    matmul_bfloat16,
    convolution,
    pooling,
    normalisation,
    attention,
    losses,
    embedding,
    reductions,
    sorting,
    gather_and_scatter,
    cumulative,
    resampling,
    fourier,
    linear_algebra,
    views_and_writes,
    recurrent,
    training,
    random_numbers,
)


def _compare(family: Compared) -> str:
    """Raises AssertionError where the device differs. Products may be rounded to bfloat16 inputs on a TPU."""
    want, got = family("cpu"), family("tpu")
    rounded = family in (matmul_bfloat16,)
    for position, (w, g) in enumerate(zip(want, got, strict=True)):
        text = f"result {position + 1} of {len(want)}"
        tolerance = {"rtol": 2e-2, "atol": 5e-2} if rounded else {"rtol": 2e-4, "atol": 2e-4}
        if not (w.is_floating_point() or w.is_complex()):
            tolerance = {"rtol": 0.0, "atol": 0.0}
        torch.testing.assert_close(g.cpu(), w, msg=lambda m, text=text: f"{text}: {m}", **tolerance)
    return f"{len(want)} results"


# --- what a device must do besides


def donation() -> str:
    x = torch.zeros(1 << 20, device="tpu").add_(1)
    torch.tpu.synchronize()
    held = torch.tpu.memory_allocated()
    torch.tpu.reset_peak_memory_stats()
    for _ in range(10):
        x.add_(1)
        torch.tpu.synchronize()
    above = torch.tpu.max_memory_allocated() - held
    assert x[123].item() == 11, "ten in-place additions to 1 do not make 11"
    assert torch.tpu.memory_allocated() <= held, "in-place updates leave memory behind"
    assert above < (4 << 20), (
        f"an in-place update of 4 MiB takes {above} bytes more: the plugin does not reuse its input"
    )
    return "in-place updates take no second buffer"


def no_new_programs() -> str:
    w = torch.randn(8, 8).to("tpu")

    def step(number: float) -> float:
        return (w * number).sum().item()

    step(1.0), step(2.0)
    before = torch.tpu.compile_stats()["compiles"]
    for number in range(3, 20):
        step(float(number))
    made = torch.tpu.compile_stats()["compiles"] - before
    assert made == 0, f"{made} programs were compiled for numbers that change"
    return "numbers that change compile nothing"


def compiled_graphs() -> str:
    x = _numbers("cpu", 4, 8)
    compiled = torch.compile(lambda x: torch.softmax(x * 2, 1) @ x.t(), backend="tpu")
    torch.testing.assert_close(compiled(x.to("tpu")).cpu(), torch.softmax(x * 2, 1) @ x.t(), rtol=2e-4, atol=2e-4)
    return 'torch.compile(backend="tpu") gives the same'


def late_errors() -> str:
    try:
        torch.zeros(3, device="tpu")[torch.tensor([5]).to("tpu")].cpu()
    except IndexError:
        return "an index out of range raises IndexError"
    raise AssertionError("an index out of range is not noticed")


def transfers() -> str:
    data = torch.randn(1 << 22)
    begin = time.perf_counter()
    there = data.to("tpu")
    torch.tpu.synchronize()
    up = time.perf_counter() - begin
    begin = time.perf_counter()
    back = there.cpu()
    down = time.perf_counter() - begin
    assert torch.equal(back, data), "16 MiB come back changed"
    rate = data.nbytes / (1 << 30)
    return f"{rate / up:.2f} GiB/s up, {rate / down:.2f} GiB/s down"


def several_devices() -> str:
    count = torch.tpu.device_count()
    x = torch.arange(6.0)
    for index in range(count):
        assert torch.equal((x.to(f"tpu:{index}") * 2).cpu(), x * 2), f"tpu:{index} computes something else"
        there = x.to("tpu:0").to(f"tpu:{index}")
        assert torch.equal(there.cpu(), x), f"a copy from tpu:0 to tpu:{index} changes numbers"
    return f"{count} devices compute and copy" if count > 1 else "one device: nothing to copy between"


DUTIES: tuple[Examined, ...] = (donation, no_new_programs, compiled_graphs, late_errors, transfers, several_devices)


# --- running them


def _checks() -> dict[str, Callable[[], str]]:
    families = {family.__name__: (lambda family=family: _compare(family)) for family in FAMILIES}
    return {**families, **{duty.__name__: duty for duty in DUTIES}}


def _serve(names: Sequence[str]) -> None:
    """In the child."""
    checks = _checks()
    for name in names:
        print(json.dumps({"begin": name}), flush=True)
        check, begin = checks[name], time.perf_counter()
        try:
            passed, detail = True, check()
        except Exception as error:
            passed, detail = False, f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"
        print(json.dumps(asdict(Outcome(name, passed, round(time.perf_counter() - begin, 3), detail))), flush=True)
    # A plugin's threads have no say in the answer.
    os._exit(0)


def run() -> Iterator[Outcome]:
    """An outcome a check, as they end."""
    waiting = list(_checks())
    while waiting:
        for outcome in _one_child(waiting):
            waiting.remove(outcome.name)
            yield outcome


def _one_child(names: Sequence[str]) -> Iterator[Outcome]:
    """Ends early, with a failure, when the child does."""
    code = "import sys; from torch_pjrt import selftest; selftest._serve(sys.argv[1:])"
    child = subprocess.Popen(
        [sys.executable, "-c", code, *names], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    current, begin = names[0], time.monotonic()
    try:
        for line in _lines(child):
            if line is None:
                child.kill()
                yield Outcome(current, False, SECONDS_A_CHECK, f"no end after {SECONDS_A_CHECK:.0f} s")
                return
            row: dict[str, Any] = json.loads(line) if line.startswith("{") else {}
            if "begin" in row:
                current, begin = row["begin"], time.monotonic()
            elif row:
                yield Outcome(**row)
                current = ""
        errors = (child.stderr.read() if child.stderr else "").strip().splitlines()
        if child.wait() != 0 or current:
            why = errors[-1] if errors else "no message"
            detail = f"the process ended with code {child.returncode}: {why}"
            yield Outcome(current or names[-1], False, round(time.monotonic() - begin, 3), detail)
    finally:
        child.kill()
        child.wait()


def _lines(child: subprocess.Popen[str]) -> Iterator[str | None]:
    """What the child prints; None when it says nothing for too long."""
    assert child.stdout is not None
    with selectors.DefaultSelector() as ready:
        ready.register(child.stdout, selectors.EVENT_READ)
        while True:
            if not ready.select(SECONDS_A_CHECK):
                yield None
                return
            line = child.stdout.readline()
            if not line:
                return
            yield line


def report(path: Path, facts: dict[str, Any]) -> int:
    """Runs all checks with a line each, writes `facts` and the outcomes to `path` as JSON, and returns how many
    failed."""
    outcomes = []
    for outcome in run():
        outcomes.append(outcome)
        state = "ok    " if outcome.passed else "FAILED"
        print(f"{state} {outcome.name:<20}{outcome.seconds:8.2f} s  {outcome.detail}", flush=True)
    failed = sum(not outcome.passed for outcome in outcomes)
    path.write_text(json.dumps({**facts, "selftest": [asdict(outcome) for outcome in outcomes]}, indent=2) + "\n")
    print(f"{len(outcomes) - failed} of {len(outcomes)} checks passed; the report is in {path}")
    return failed
