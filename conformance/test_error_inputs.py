"""op_db's error_inputs: what raises on the CPU raises the same class on tpu."""

from __future__ import annotations

from typing import Any

import torch
from case import Compared, case, move, to_cpu
from torch.testing._internal.common_device_type import OpDTypes, instantiate_device_type_tests, ops
from torch.testing._internal.common_methods_invocations import op_db


def error_of(op: Any, sample: Any, device: str) -> BaseException | None:
    x, args, kwargs = move((sample.input, sample.args, sample.kwargs), device)
    try:
        # What only the device can see is raised at the next look.
        to_cpu(op(x, *args, **kwargs))
    except Exception as error:
        return error
    return None


class TestErrorInputs(Compared):
    @ops([op for op in op_db if op.error_inputs_func is not None], dtypes=OpDTypes.none)
    def test_error_class(self, device: str, op: Any) -> None:
        with case("error", op.formatted_name, None) as record:
            torch.manual_seed(0)
            wrong, record["inputs"] = [], 0
            for error_input in op.error_inputs("cpu"):
                expected = error_of(op, error_input.sample_input, "cpu")
                if expected is None:
                    continue
                record["inputs"] += 1
                got = error_of(op, error_input.sample_input, "tpu")
                if type(got) is not type(expected):
                    wrong.append(f"{type(expected).__name__} ({expected}), got {type(got).__name__} ({got})"[:600])
            record["wrong"] = len(wrong)
            assert not wrong, "expected " + "; ".join(wrong)


instantiate_device_type_tests(TestErrorInputs, globals(), only_for=("privateuse1",))
