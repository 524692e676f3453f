"""op_db: results, in-place forms, out= and gradients."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

import torch
from case import Compared, Result, case, is_random, move, tensors_of
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64, torch.float64)
GRADIENT_DTYPES = (torch.float32, torch.float64, torch.complex64)
SEED = 0


def samples_of(op: Any, dtype: torch.dtype, requires_grad: bool = False) -> Iterator[Any]:
    torch.manual_seed(SEED)
    for sample in op.sample_inputs("cpu", dtype, requires_grad=requires_grad):
        if all(x.layout == torch.strided for x in tensors_of((sample.input, sample.args, sample.kwargs))):
            if op.name == "tensor_split":
                # PyTorch takes split points on the CPU only, whatever the device of the tensor.
                for points in tensors_of((sample.args, sample.kwargs)):
                    points.stays_on_the_cpu = True
            yield sample


def run(function: Any, tree: tuple[Any, tuple[Any, ...], dict[str, Any]], device: str, **more: Any) -> Any:
    x, args, kwargs = tree
    torch.manual_seed(SEED)
    # Factories take no tensor that says where.
    with contextlib.nullcontext() if tensors_of(tree) else torch.device(device):
        return function(x, *args, **kwargs, **more)


def without_ties(name: str, result: Any, tree: tuple[Any, tuple[Any, ...], dict[str, Any]]) -> Any:
    """Equal elements may come in any order: what lies at the indices is compared, not the indices."""
    x, args, kwargs = tree
    if name == "argsort":
        dim = kwargs.get("dim", next((a for a in args if type(a) is int), -1))
        return x.gather(dim, result) if x.dim() else result
    if name in ("sort", "kthvalue", "topk", "mode"):
        # What comes before dim is k, but for sort and mode.
        numbers = [a for a in args if type(a) is int][name in ("kthvalue", "topk") :]
        dim = kwargs.get("dim", numbers[0] if numbers else -1)
        values, indices = result
        if not x.dim():
            return result
        return values, x.gather(dim, indices if indices.dim() == x.dim() else indices.unsqueeze(dim))
    return result


class TestOps(Compared):
    @ops(op_db, allowed_dtypes=DTYPES)
    def test_forward(self, device: str, dtype: torch.dtype, op: Any) -> None:
        self.use_tolerance_of(op, dtype)
        with case("forward", op.formatted_name, dtype), self.together() as results:
            for sample in samples_of(op, dtype):
                tree = (sample.input, sample.args, sample.kwargs)

                def outcome(device: str, tree: Any = tree, sample: Any = sample, wider: bool = False) -> Any:
                    moved = move(tree, device, wider)
                    result = without_ties(op.name, run(op, moved, device), moved)
                    return sample.output_process_fn_grad(result)

                expected = outcome("cpu")
                random = is_random(op.name, lambda outcome=outcome: outcome("cpu"), expected)
                precise = functools.partial(outcome, "cpu", wider=True)
                results.append(Result(outcome("tpu"), expected, random, precise))

    @ops([op for op in op_db if op.get_inplace()], allowed_dtypes=DTYPES)
    def test_in_place(self, device: str, dtype: torch.dtype, op: Any) -> None:
        self.use_tolerance_of(op, dtype)
        in_place = op.get_inplace()
        with case("in_place", op.formatted_name, dtype), self.together() as results:
            for sample in samples_of(op, dtype):
                tree = (sample.input, sample.args, sample.kwargs)
                reference = move(tree, "cpu")
                try:
                    expected = run(in_place, reference, "cpu")
                except Exception as error:
                    # Such as a result of another dtype than the input's: no in-place form on the CPU either.
                    with self.assertRaises(type(error)):
                        run(in_place, move(tree, "tpu"), "tpu")
                    continue
                random = is_random(op.name, lambda tree=tree: run_again(in_place, tree), expected)
                ours = move(tree, "tpu")
                got = run(in_place, ours, "tpu")
                precise = functools.partial(twice, in_place, tree)
                results.append(Result((got, ours[0]), (expected, reference[0]), random, precise))

    @ops([op for op in op_db if op.supports_out], allowed_dtypes=DTYPES)
    def test_out(self, device: str, dtype: torch.dtype, op: Any) -> None:
        self.use_tolerance_of(op, dtype)
        if fails_on_the_cpu(op, "test_out", dtype):
            self.skipTest("OpInfo knows that the CPU's own out= is wrong")
        with case("out", op.formatted_name, dtype), self.together() as results:
            for number, sample in enumerate(samples_of(op, dtype)):
                tree = (sample.input, sample.args, sample.kwargs)
                expected = run(op, move(tree, "cpu"), "cpu")
                random = is_random(op.name, lambda tree=tree: op(tree[0], *tree[1], **tree[2]), expected)
                for change in OUT_FORMS if number == 0 else OUT_FORMS[:1]:
                    written = self.write_out(op, tree, expected, change)
                    if written:
                        precise = functools.partial(self.precise_out, op, tree)
                        results.append(Result(*written, random, precise))

    def precise_out(self, op: Any, tree: Any) -> Any:
        moved = move(tree, "cpu", wider=True)
        return without_ties(op.name, run(op, moved, "cpu"), moved)

    def write_out(self, op: Any, tree: Any, expected: Any, change: Any) -> tuple[Any, Any] | None:
        def outs(device: str) -> Any:
            made = [change(x).to(device) for x in tensors_of(expected)]
            return made[0] if isinstance(expected, torch.Tensor) else tuple(made)

        out, reference = outs("tpu"), outs("cpu")
        try:
            run(op, move(tree, "cpu"), "cpu", out=reference)
        except Exception as error:
            with self.assertRaises(type(error)):
                run(op, move(tree, "tpu"), "tpu", out=out)
            return None
        got = run(op, move(tree, "tpu"), "tpu", out=out)
        for a, b in zip(tensors_of(got), tensors_of(out) if got is not None else [], strict=True):
            assert a.data_ptr() == b.data_ptr(), "the result is not out"
        return without_ties(op.name, out, move(tree, "tpu")), without_ties(op.name, reference, move(tree, "cpu"))

    @ops([op for op in op_db if op.supports_autograd], allowed_dtypes=GRADIENT_DTYPES)
    def test_gradient(self, device: str, dtype: torch.dtype, op: Any) -> None:
        if dtype not in op.supported_backward_dtypes("cpu"):
            self.skipTest("has no gradient for this dtype")
        self.use_tolerance_of(op, dtype)
        with case("gradient", op.formatted_name, dtype), self.together() as results:
            for sample in samples_of(op, dtype, requires_grad=True):
                tree = (sample.input, sample.args, sample.kwargs)
                expected = gradients(op, sample, move(tree, "cpu"))
                if expected is None:
                    continue
                random = is_random(
                    op.name, lambda tree=tree, sample=sample: gradients(op, sample, move(tree, "cpu")), expected
                )
                precise = functools.partial(gradients, op, sample, move(tree, "cpu", wider=True))
                results.append(Result(gradients(op, sample, move(tree, "tpu")), expected, random, precise))


def fails_on_the_cpu(op: Any, test: str, dtype: torch.dtype) -> bool:
    """OpInfo marks PyTorch's own test of this as skipped or failing."""
    marks = op.get_decorators("TestCommon", test, "cpu", dtype, {})
    return any(getattr(mark, "__qualname__", "") in ("expectedFailure", "skip.<locals>.decorator") for mark in marks)


def twice(function: Any, tree: Any) -> Any:
    """What an in-place form returns and leaves behind, in double precision."""
    moved = move(tree, "cpu", wider=True)
    return run(function, moved, "cpu"), moved[0]


def run_again(function: Any, tree: Any) -> Any:
    x, args, kwargs = move(tree, "cpu")
    return function(x, *args, **kwargs)


OUT_FORMS = (
    lambda x: torch.empty_strided(x.shape, x.stride(), dtype=x.dtype),
    lambda x: torch.empty(0, dtype=x.dtype),
    lambda x: torch.empty((*x.shape, 2), dtype=x.dtype).select(-1, 0),
    lambda x: torch.empty(x.shape, dtype=torch.int32 if x.is_floating_point() else torch.float32),
)


def gradients(op: Any, sample: Any, tree: Any) -> list[torch.Tensor | None] | None:
    """Of all inputs that need one, for cotangents that depend on the sizes only; None where no result needs one."""
    x, args, kwargs = tree
    torch.manual_seed(SEED)
    result = op.gradcheck_wrapper(op.get_op(), x, *args, **kwargs)
    results = [y for y in tensors_of(sample.output_process_fn_grad(result)) if y.requires_grad]
    inputs = [y for y in tensors_of(tree) if y.requires_grad]
    if not results or not inputs:
        return None
    torch.manual_seed(SEED)
    cotangents = [torch.randn(y.shape, dtype=y.dtype).to(y.device) for y in results]
    return list(torch.autograd.grad(results, inputs, cotangents, allow_unused=True))


instantiate_device_type_tests(TestOps, globals(), only_for=("privateuse1",))
