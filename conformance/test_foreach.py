"""The foreach databases: lists of tensors, functional and in place."""

from __future__ import annotations

from typing import Any

import torch
from case import Compared, Result, case, move
from torch.testing._internal import common_methods_invocations as databases
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops

FOREACH = [
    *databases.foreach_unary_op_db,
    *databases.foreach_binary_op_db,
    *databases.foreach_pointwise_op_db,
    *databases.foreach_reduce_op_db,
    *databases.foreach_other_op_db,
]
DTYPES = (torch.float32, torch.bfloat16, torch.int64, torch.bool)


class TestForeach(Compared):
    @ops(FOREACH, allowed_dtypes=DTYPES)
    def test_foreach(self, device: str, dtype: torch.dtype, op: Any) -> None:
        self.use_tolerance_of(op, dtype)
        with case("foreach", op.formatted_name, dtype), self.together() as results:
            for function in (op.method_variant, op.inplace_variant):
                if function is None:
                    continue
                torch.manual_seed(0)
                for sample in op.sample_inputs("cpu", dtype, noncontiguous=False, allow_higher_dtype_scalars=True):
                    tree = (sample.input, sample.args, sample.kwargs)
                    reference, ours = move(tree, "cpu"), move(tree, "tpu")
                    try:
                        expected = function(reference[0], *reference[1], **reference[2])
                    except NotImplementedError:
                        continue  # what the CPU can't do may work here
                    except Exception as error:
                        with self.assertRaises(type(error)):
                            function(ours[0], *ours[1], **ours[2])
                        continue
                    got = function(ours[0], *ours[1], **ours[2])
                    results.append(Result((got, ours[0]), (expected, reference[0])))


instantiate_device_type_tests(TestForeach, globals(), only_for=("privateuse1",))
