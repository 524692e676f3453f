"""Storages on tpu: factories, resize_ and set_, copies in all directions, clones, saving and loading."""

import copy
import io
import pickle

import pytest
import torch


def stats(name):
    return torch.tpu.compile_stats()[name]


# --- factories


def test_empty_takes_no_memory_before_it_is_written():
    before = torch.tpu.memory_allocated()
    x = torch.empty(1 << 28, device="tpu")
    assert torch.tpu.memory_allocated() == before
    x[:4] = 1
    assert x.shape == (1 << 28,)


@pytest.mark.parametrize("format", [torch.contiguous_format, torch.channels_last], ids=str)
def test_factories_give_pytorchs_strides(format):
    for make in (torch.empty, torch.zeros, torch.ones):
        host = make(2, 3, 4, 5).contiguous(memory_format=format)
        assert torch.empty(2, 3, 4, 5, device="tpu", memory_format=format).stride() == host.stride()
    strided = torch.empty_strided((2, 3), (1, 2), device="tpu")
    assert strided.stride() == (1, 2)
    assert torch.empty(0, device="tpu").shape == (0,)
    assert torch.empty((), device="tpu").shape == ()


def test_bad_sizes_and_layouts_are_refused():
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.empty(-1, device="tpu")
    with pytest.raises(NotImplementedError, match="no sparse tensors"):
        torch.empty(2, 2, device="tpu", layout=torch.sparse_coo)
    with pytest.raises(RuntimeError):
        torch.empty(2, device="tpu:99")


def test_numpy_is_refused_as_for_any_device_tensor():
    with pytest.raises(TypeError, match="tpu:0"):
        torch.zeros(2, device="tpu").numpy()


def test_data_ptr_is_unique_and_follows_the_offset():
    a, b = torch.zeros(8, device="tpu"), torch.zeros(8, device="tpu")
    assert a.data_ptr() != b.data_ptr() != 0
    assert a[2:].data_ptr() == a.data_ptr() + 8
    assert a.view(2, 4).data_ptr() == a.data_ptr()


# --- resize_, set_


def test_resize_keeps_what_fits():
    x = torch.arange(6, device="tpu")
    x.resize_(2, 2)
    assert torch.equal(x.cpu(), torch.tensor([[0, 1], [2, 3]]))
    x.resize_(8)
    assert torch.equal(x.cpu()[:6], torch.arange(6))
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0
    x.untyped_storage().resize_(64)
    x.fill_(3)
    assert x.cpu().tolist() == [3] * 8
    y = torch.empty(0, device="tpu")
    y.resize_(3, 2).zero_()
    assert y.cpu().tolist() == [[0.0, 0.0]] * 3


def test_resized_storage_gives_its_memory_back():
    x = torch.arange(1 << 18, device="tpu", dtype=torch.float32) + 1
    x.cpu()
    before = torch.tpu.memory_allocated()
    x.untyped_storage().resize_(0)
    assert torch.tpu.memory_allocated() <= before - (1 << 20)


def test_set_shares_the_storage():
    x = torch.arange(12, device="tpu")
    y = torch.empty(0, dtype=torch.int64, device="tpu")
    y.set_(x.untyped_storage(), 2, (3, 2), (4, 1))
    assert y.is_set_to(x.as_strided((3, 2), (4, 1), 2))
    y.add_(100)
    assert torch.equal(x.cpu().as_strided((3, 2), (4, 1), 2), torch.arange(12).as_strided((3, 2), (4, 1), 2) + 100)
    z = torch.empty(0, dtype=torch.int64, device="tpu").set_(x.untyped_storage())
    assert torch.equal(z.cpu(), x.cpu())
    assert torch.empty(3, dtype=torch.int64, device="tpu").set_(x).is_set_to(x)
    z.set_()
    assert z.numel() == 0
    p = torch.nn.Parameter(torch.zeros(3, device="tpu"))
    p.data = torch.ones(5, device="tpu")
    assert p.sum().item() == 5


# --- copies


DIRECTIONS = [("cpu", "tpu"), ("tpu", "cpu"), ("tpu", "tpu")]


@pytest.mark.parametrize("source,target", DIRECTIONS)
@pytest.mark.parametrize(
    "to", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.float64, torch.complex64], ids=str
)
def test_copies_convert_and_broadcast(source, target, to):
    x = torch.tensor([[0.0], [1.75], [-2.5]])
    want = torch.empty(2, 3, 4, dtype=to).copy_(x)
    got = torch.empty(2, 3, 4, dtype=to, device=target).copy_(x.to(source))
    assert torch.equal(got.cpu(), want)


@pytest.mark.parametrize("source,target", DIRECTIONS)
def test_copies_keep_memory_formats(source, target):
    x = torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    y = x.to(source).to(target)
    assert y.stride() == x.stride()
    assert torch.equal(y.cpu(), x)
    t = torch.randn(3, 4).t().to(source)
    assert t.to(target).stride() == (1, 4)
    assert torch.equal(t.to(target).cpu(), t.cpu())
    out = torch.empty(2, 3, 4, 5, device=target).copy_(x.to(source))
    assert out.is_contiguous() and torch.equal(out.cpu(), x)


def test_host_memory_may_change_right_after_a_copy():
    x = torch.ones(1000)
    y = x.to("tpu", non_blocking=True)
    x.zero_()
    assert y.sum().item() == 1000


def test_copy_errors_are_pytorchs():
    x = torch.zeros(3, device="tpu")
    with pytest.raises(RuntimeError, match="must match the size"):
        x.copy_(torch.zeros(4))
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.copy_(torch.zeros(2, 3))
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        torch.zeros(2, device="tpu").copy_(torch.zeros(2, dtype=torch.complex64, device="tpu"))


def test_clone_shares_until_one_is_written():
    x = torch.randn(64, 64).to("tpu")
    torch.tpu.synchronize()
    before = stats("executions"), torch.tpu.memory_allocated()
    y = x.clone()
    torch.tpu.synchronize()
    assert (stats("executions"), torch.tpu.memory_allocated()) == before
    y.add_(1)
    assert torch.equal(y.cpu() - 1 + 1, x.cpu() + 1)


def test_clone_follows_the_memory_format():
    x = torch.randn(2, 3, 4, 5)
    for view in (x, x.permute(0, 2, 3, 1), x[:, 1:], x.expand(2, 3, 4, 5), x[:, :1].expand(2, 3, 4, 5), x[..., ::2]):
        device = (
            view.to("tpu")
            if view.is_contiguous()
            else x.to("tpu").as_strided(view.shape, view.stride(), view.storage_offset())
        )
        for format in (torch.preserve_format, torch.contiguous_format, torch.channels_last):
            want, got = view.clone(memory_format=format), device.clone(memory_format=format)
            assert got.stride() == want.stride(), (view.stride(), format)
            assert torch.equal(got.cpu(), want)


def test_fetching_small_views_compiles_nothing():
    x = torch.arange(100, device="tpu")
    x.cpu()
    before = stats("compiles")
    assert [x[i].item() for i in range(5)] == list(range(5))
    assert x[10:20:3].cpu().tolist() == [10, 13, 16, 19]
    assert torch.zeros(3, 3, device="tpu").cpu().sum() == 0
    assert stats("compiles") == before


# --- what the host asks for


def test_item_of_each_kind():
    assert torch.tensor(3, device="tpu").item() == 3
    assert torch.tensor(2.5, device="tpu").item() == 2.5
    assert torch.tensor(True, device="tpu").item() is True
    assert torch.tensor(1 + 2j, device="tpu").item() == 1 + 2j
    assert (
        torch.full((), 0.1, dtype=torch.bfloat16, device="tpu").item() == torch.tensor(0.1, dtype=torch.bfloat16).item()
    )
    assert torch.full((), 2**63, dtype=torch.uint64, device="tpu").item() == 2**63
    assert torch.ones(1, 1, device="tpu").item() == 1
    assert bool(torch.ones((), device="tpu")) and int(torch.tensor([7], device="tpu")) == 7
    assert torch.arange(4, device="tpu").tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="cannot be converted to Scalar"):
        torch.ones(2, device="tpu").item()


def test_equal():
    x = torch.arange(6.0, device="tpu")
    assert torch.equal(x, x.clone()) and not torch.equal(x, x + 1) and not torch.equal(x, x[:3])
    nan = torch.tensor([float("nan")], device="tpu")
    assert not torch.equal(nan, nan.clone())
    with pytest.raises(RuntimeError):
        torch.equal(x, torch.arange(6.0))


@pytest.mark.parametrize("size", [0, 2, 9])
def test_nonzero_of_a_stated_size_needs_no_look(size):
    host = torch.tensor([[3, 0, 1], [0, 3, 3]])
    syncs = stats("host_syncs")
    got = torch.nonzero_static(host.to("tpu"), size=size, fill_value=-7)
    assert stats("host_syncs") == syncs
    assert torch.equal(got.cpu(), torch.nonzero_static(host, size=size, fill_value=-7))


def test_results_whose_size_depends_on_data():
    host = torch.tensor([[3, 0, 1], [0, 3, 3]])
    x = host.to("tpu")
    for function in (
        torch.nonzero,
        lambda t: torch.nonzero(t, as_tuple=True)[1],
        lambda t: torch.masked_select(t, t > 1),
        lambda t: t[t > 1],
        torch.unique,
        lambda t: torch.unique(t, return_inverse=True, return_counts=True)[1],
        lambda t: torch.unique(t, dim=0),
        lambda t: torch.unique_consecutive(t.flatten()),
        lambda t: torch.repeat_interleave(t, torch.tensor([1, 2], device=t.device), dim=0),
    ):
        got = function(x)
        assert got.device.type == "tpu" and torch.equal(got.cpu(), function(host))
    with pytest.raises(RuntimeError, match="unsupported operation"):
        torch.masked_select(x[0], x[0] > 1, out=x[0])
    with pytest.raises(IndexError, match="shape of the mask"):
        x[torch.ones(3, 3, dtype=torch.bool, device="tpu")]
    with pytest.raises(RuntimeError, match="same device"):
        torch.masked_select(x, torch.ones(2, 3, dtype=torch.bool))


# --- saving, loading, copying objects


@pytest.mark.parametrize("zip", [True, False])
def test_save_and_load_with_any_map_location(zip):
    x = torch.randn(3, 4).to("tpu")
    view = x.t()
    file = io.BytesIO()
    torch.save({"x": x, "view": view, "b": x.bfloat16()}, file, _use_new_zipfile_serialization=zip)
    for where in (None, "cpu", "tpu", "tpu:0", torch.device("tpu", 0)):
        file.seek(0)
        got = torch.load(file, map_location=where)
        assert got["x"].device.type == ("cpu" if where == "cpu" else "tpu")
        assert torch.equal(got["x"].cpu(), x.cpu()) and torch.equal(got["b"].cpu(), x.bfloat16().cpu())
        assert torch.equal(got["view"].cpu(), view.cpu()) and got["view"].stride() == view.stride()
        got["x"].fill_(1)
        assert got["view"].sum().item() == 12  # still one storage
    file = io.BytesIO()
    torch.save(x.cpu(), file)
    file.seek(0)
    assert torch.equal((torch.load(file, map_location="tpu") * 2).cpu(), x.cpu() * 2)


def test_loaded_tensors_need_no_program_of_their_own():
    x = torch.randn(31, 33)
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    want = (x.to("tpu") * 2).cpu()
    before = stats("compiles") + stats("disk_hits")
    assert torch.equal((torch.load(file, map_location="tpu") * 2).cpu(), want)
    assert stats("compiles") + stats("disk_hits") == before


def test_pickle_and_deepcopy():
    x = torch.randn(3, 4, device="tpu", requires_grad=True)
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.device == x.device and y.requires_grad and torch.equal(y.cpu(), x.cpu())
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 2)).to("tpu")
    twin = copy.deepcopy(model)
    twin[0].weight.data.zero_()
    assert model[0].weight.abs().sum().item() > 0


def test_untyped_storages_copy_and_index():
    x = torch.arange(4, dtype=torch.int32).to("tpu")
    storage = x.untyped_storage()
    assert storage.device == x.device and storage.nbytes() == 16 and storage.cpu().tolist()[4] == 1
    assert storage.clone().cpu().tolist() == storage.cpu().tolist()


# --- modules and memory


def test_moving_a_module_keeps_its_parameters():
    model = torch.nn.Linear(3, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    before = model.weight
    model.to("tpu")
    assert model.weight is before and model.weight.device.type == "tpu"
    model(torch.ones(1, 3, device="tpu")).sum().backward()
    old = model.bias.detach().cpu().clone()
    optimizer.step()
    assert torch.allclose(model.bias.detach().cpu(), old - 0.5)
    model.to("cpu")
    assert model.weight is before and model(torch.ones(1, 3)).device.type == "cpu"


def test_memory_is_given_back():
    before = torch.tpu.memory_allocated()
    x = torch.ones(1 << 20).to("tpu")
    assert torch.tpu.memory_allocated() - before == 1 << 22
    y = x + 1
    torch.tpu.synchronize()
    assert torch.tpu.memory_allocated() - before == 2 << 22
    del x, y
    assert torch.tpu.memory_allocated() == before


def test_pinned_memory():
    x = torch.ones(5).pin_memory()
    assert x.is_pinned() and x[2:].is_pinned() and not torch.ones(5).is_pinned()
    assert torch.empty(3, pin_memory=True).is_pinned()
    assert x.to("tpu", non_blocking=True).sum().item() == 5
    with pytest.raises(RuntimeError, match="pinned"):
        torch.empty(3, device="tpu", pin_memory=True)
