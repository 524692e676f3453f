"""Random chains of views over random storages: reads and writes must give what the CPU gives."""

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# One step of a chain: which kind of view, and numbers that are taken modulo what the tensor allows.
STEP = st.tuples(st.integers(0, 11), st.integers(0, 63), st.integers(0, 63), st.integers(0, 63))
CHAIN = st.lists(STEP, min_size=1, max_size=6)
SHAPE = st.lists(st.integers(1, 6), min_size=1, max_size=4)
DTYPES = [
    torch.bool, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.uint16, torch.uint32,
    torch.uint64, torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64, torch.complex128,
    torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz,
]  # fmt: skip


def random_cases(count):
    # The same cases in every run: each new one compiles.
    return settings(max_examples=count, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def reshaped(t, k):
    sizes = [n for n in range(1, t.numel() + 1) if t.numel() % n == 0] if t.numel() else [0]
    n = sizes[k % len(sizes)]
    shape = (n, t.numel() // n) if n else (0,)
    try:
        return t.view(shape)
    except RuntimeError:
        return t


def strided(t, a, b, c):
    """as_strided with overlap and gaps, inside the storage."""
    room = t.untyped_storage().nbytes() // t.element_size()
    if room == 0:
        return t
    offset = a % room
    size = [1 + b % 4, 1 + c % 4]
    stride = [1 + (a + b) % 5, 1 + (b + c) % 5]
    while offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True)) >= room:
        size[0 if size[0] > size[1] else 1] -= 1
        if max(size) <= 1:
            size, offset = [1, 1], 0
            break
    return t.as_strided(size, stride, offset)


def apply(t, step):
    kind, a, b, c = step
    if kind == 0 and t.dim() >= 2:
        return t.transpose(a % t.dim(), b % t.dim())
    if kind == 1 and t.dim() >= 1 and t.shape[a % t.dim()]:
        return t.select(a % t.dim(), b % t.shape[a % t.dim()])
    if kind == 2 and t.dim() >= 1:
        n = t.shape[a % t.dim()]
        start = b % (n + 1)
        index = [slice(None)] * t.dim()
        index[a % t.dim()] = slice(start, start + c % (n - start + 1), 1 + b % 3)
        return t[tuple(index)]
    if kind == 3 and t.dim() < 5:
        return t.unsqueeze(a % (t.dim() + 1))
    if kind == 4:
        return t.squeeze()
    if kind == 5 and t.dim() < 5:
        return t.unsqueeze(0).expand(1 + a % 3, *t.shape)
    if kind == 6:
        return reshaped(t, a)
    if kind == 7:
        return strided(t, a, b, c)
    if kind == 8 and t.dim() >= 1 and t.dim() < 5 and t.shape[a % t.dim()]:
        n = t.shape[a % t.dim()]
        return t.unfold(a % t.dim(), 1 + b % n, 1 + c % 3)
    if kind == 9 and t.dim() >= 2 and a % t.dim() != b % t.dim():
        return t.diagonal(c % 3 - 1, a % t.dim(), b % t.dim())
    if kind == 10 and t.dim() >= 2:
        order = sorted(range(t.dim()), key=lambda d: (d * a + b) % 7)
        return t.permute(order)
    if kind == 11 and t.dim() >= 1 and t.shape[a % t.dim()]:
        return t.split(1 + b % 4, a % t.dim())[0]
    return t


def follow(t, chain):
    for step in chain:
        t = apply(t, step)
    return t


def pair(shape, dtype=torch.int32):
    """The same numbers on both devices; as the result of an op, so that the base may be pending."""
    n = int(torch.tensor(shape).prod())
    host = torch.arange(n).view(shape).to(dtype)
    return host, host.to("tpu")


def overlaps(t):
    room = max(t.untyped_storage().nbytes() // t.element_size(), 1)
    places = torch.arange(room).as_strided(t.shape, t.stride(), t.storage_offset())
    return places.unique().numel() != places.numel()


def same_bytes(a, b):
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def moving_strides(t):
    """A dimension of size 1 may have any stride."""
    return [s for n, s in zip(t.shape, t.stride(), strict=True) if n != 1] if t.numel() else []


def assert_same(host, device, note):
    assert device.shape == host.shape and device.stride() == host.stride(), note
    assert device.storage_offset() == host.storage_offset(), note


@random_cases(60)
@given(SHAPE, st.lists(CHAIN, min_size=20, max_size=40))
def test_reads_match_the_cpu(shape, chains):
    host, device = pair(shape)
    seen = []
    for chain in chains:
        h, d = follow(host, chain), follow(device, chain)
        assert_same(h, d, chain)
        seen.append((chain, h, d.clone(memory_format=torch.contiguous_format)))
    torch.tpu.mark_step()  # one program for all of them
    for chain, h, d in seen:
        assert torch.equal(h, d.cpu()), (chain, h.shape, h.stride())


@random_cases(60)
@given(SHAPE, st.lists(st.tuples(CHAIN, st.sampled_from(["copy", "fill", "add"])), min_size=10, max_size=30))
def test_writes_match_the_cpu(shape, chains):
    host, device = pair(shape)
    done = []
    for i, (chain, kind) in enumerate(chains):
        h, d = follow(host, chain), follow(device, chain)
        if overlaps(h):
            continue
        if kind == "copy":
            new = torch.arange(h.numel(), dtype=h.dtype).view(h.shape) + 1000 * i
            h.copy_(new)
            d.copy_(new.to("tpu"))
        elif kind == "fill":
            h.fill_(-i)
            d.fill_(-i)
        else:
            h.add_(i)
            d.add_(i)
        done.append((chain, kind))
    assert torch.equal(host, device.cpu()), done


@random_cases(30)
@given(SHAPE, st.lists(CHAIN, min_size=4, max_size=12))
def test_results_of_views_can_be_viewed_again(shape, chains):
    """A chain over a pending result, whose strides follow PyTorch's rules."""
    host, device = pair(shape, torch.float32)
    seen = []
    for chain in chains:
        h, d = follow(host, chain) * 2, follow(device, chain) * 2
        assert moving_strides(d) == moving_strides(h), chain
        h, d = follow(h, chain), follow(d, chain)
        seen.append((chain, h, d.clone(memory_format=torch.contiguous_format)))
    torch.tpu.mark_step()
    for chain, h, d in seen:
        assert torch.equal(h, d.cpu()), chain


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_each_dtype_is_read_and_written_through_views(dtype):
    host, device = pair((4, 6), dtype)
    assert device.dtype == dtype
    assert same_bytes(host, device.cpu())
    assert same_bytes(host.t()[1:5:2, 1:].clone(), device.t()[1:5:2, 1:].clone().cpu())
    new = torch.arange(6).view(2, 3).to(dtype)
    host[::3, 1::2] = new
    device[::3, 1::2] = new.to("tpu")
    assert same_bytes(host, device.cpu())


@pytest.mark.parametrize(
    "source", [torch.float32, torch.int16, torch.uint8, torch.bfloat16, torch.complex64, torch.float64], ids=str
)
@pytest.mark.parametrize(
    "target", [torch.float32, torch.int64, torch.int8, torch.float16, torch.complex64, torch.complex128], ids=str
)
def test_a_storage_is_seen_as_another_dtype(source, target):
    host = torch.arange(1, 129).to(source).view(2, 64)
    device = host.to("tpu")
    assert same_bytes(host.view(target), device.view(target).clone().cpu())
    host.view(target)[1].zero_()
    device.view(target)[1].zero_()
    assert same_bytes(host, device.cpu())


def test_complex_and_real_views_share_memory():
    host = torch.randn(3, 4, 2)
    device = host.to("tpu")
    z = torch.view_as_complex(device)
    assert torch.equal(z.cpu(), torch.view_as_complex(host))
    z.mul_(1j)
    torch.view_as_complex(host).mul_(1j)
    assert torch.equal(device.cpu(), host)
    assert torch.equal(
        torch.view_as_real(z.conj().resolve_conj()).cpu(), torch.view_as_real(z.cpu().conj().resolve_conj())
    )
    assert torch.equal(z.imag.clone().cpu(), torch.view_as_complex(host).imag)


def test_lazy_conjugation_and_negation_are_read_and_written():
    host = torch.randn(3, 4, dtype=torch.complex64)
    device = host.to("tpu")
    assert torch.equal(device.conj().cpu(), host.conj())
    assert torch.equal(device.conj().imag.clone().cpu(), host.conj().imag)
    device.conj().copy_(torch.ones(3, 4, dtype=torch.complex64) * (1 + 2j))
    assert torch.equal(device.cpu(), torch.full((3, 4), 1 - 2j))


def test_a_view_beyond_its_storage_is_refused():
    device = torch.arange(6, device="tpu")
    with pytest.raises(RuntimeError):
        device.as_strided((4,), (2,), 0).clone().cpu()
    with pytest.raises(RuntimeError, match="invalid for input of size"):
        device.view(4)
    with pytest.raises(IndexError):
        device[7]


def test_in_place_ops_on_views_reach_the_base():
    x = torch.zeros(4, 4, device="tpu")
    x[1] += 1
    x[:, 2].mul_(5)
    x.diagonal().fill_(7)
    x.t()[3].sub_(2)
    y = torch.zeros(4, 4)
    y[1] += 1
    y[:, 2].mul_(5)
    y.diagonal().fill_(7)
    y.t()[3].sub_(2)
    assert torch.equal(x.cpu(), y)


def test_writing_to_an_expanded_tensor_is_refused():
    x = torch.zeros(1, device="tpu").expand(4)
    for write in (
        lambda: x.copy_(torch.ones(4)),
        lambda: x.add_(1),
        lambda: torch.add(torch.ones(4, device="tpu"), 1, out=x),
    ):
        with pytest.raises(RuntimeError, match="single memory location"):
            write()
    assert x.fill_(3).tolist() == [3.0] * 4  # the order of writes does not matter
