"""Accelerate on tpu: a training loop of one's own, its checkpoints, and models loaded piece by piece."""

from __future__ import annotations

import accelerate
import pytest
import tiny
import torch
from accelerate.utils import find_executable_batch_size


@pytest.fixture(autouse=True)
def fresh_state():
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    yield
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)


def prepared(cpu: bool = False, dropout: float = 0.0, **options):
    made = accelerate.Accelerator(cpu=cpu, **options)
    model = tiny.llama(attention_dropout=dropout).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(tiny.Sentences(), batch_size=4)
    return made, *made.prepare(model, optimizer, loader)


def steps(accelerator, model, optimizer, loader, count: int) -> list[float]:
    losses = []
    for batch in list(loader)[:count]:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather(loss.detach()[None]).mean().item())
    return losses


@pytest.mark.parametrize("options", [{}, {"gradient_accumulation_steps": 2}, {"mixed_precision": "bf16"}], ids=str)
def test_a_training_loop_equals_the_cpus(options):
    ours = prepared(**options)
    assert ours[0].device.type == "tpu" and ours[1].device.type == "tpu"
    got = steps(*ours, 6)
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    reference = prepared(cpu=True, **options)
    assert reference[0].device.type == "cpu"
    assert got == pytest.approx(steps(*reference, 6), rel=2e-2 if "mixed_precision" in options else 1e-3)


def test_fp16_computes_in_half_and_scales_its_gradients():
    scaling = accelerate.utils.GradScalerKwargs(init_scale=1024.0)
    ours = prepared(mixed_precision="fp16", kwargs_handlers=[scaling])
    assert ours[0].device.type == "tpu" and ours[0].mixed_precision == "fp16"
    seen = []
    projection = ours[0].unwrap_model(ours[1]).model.layers[0].mlp.up_proj
    projection.register_forward_hook(lambda module, args, output: seen.append(output.dtype))
    got = steps(*ours, 6)
    assert set(seen) == {torch.float16} and ours[0].scaler.get_scale() == 1024.0
    assert not ours[2].step_was_skipped
    accelerate.state.AcceleratorState._reset_state(reset_partial_state=True)
    assert got == pytest.approx(steps(*prepared(cpu=True), 6), rel=2e-2)


def test_a_saved_state_goes_on_with_the_same_numbers(tmp_path):
    run = prepared(dropout=0.3)
    steps(*run, 3)
    run[0].save_state(str(tmp_path))
    expected = steps(*run, 3)
    torch.rand(5, device="tpu")
    run[0].load_state(str(tmp_path))
    assert steps(*run, 3) == expected


def test_a_model_is_loaded_piece_by_piece(tmp_path):
    model = tiny.llama().eval()
    model.save_pretrained(tmp_path)
    with accelerate.init_empty_weights():
        empty = tiny.llama().eval()
    assert {p.device.type for p in empty.parameters()} == {"meta"}
    empty.tie_weights()
    loaded = accelerate.load_checkpoint_and_dispatch(empty, str(tmp_path), device_map="auto")
    assert {p.device.type for p in loaded.parameters()} == {"tpu"}
    ids = tiny.Sentences(2).rows
    torch.testing.assert_close(loaded(ids.to("tpu")).logits.cpu(), model(ids).logits, rtol=1e-4, atol=1e-4)


def test_the_batch_size_falls_until_it_fits():
    tried = []

    @find_executable_batch_size(starting_batch_size=2**25)
    def train(batch_size):
        tried.append(batch_size)
        made = torch.rand(batch_size, device="tpu")
        torch.tpu.mark_step()
        return len(made)

    limit = 2**26 / torch.tpu.get_device_properties().total_memory
    torch.tpu.set_per_process_memory_fraction(limit)
    try:
        assert train() == tried[-1]
    finally:
        torch.tpu.set_per_process_memory_fraction(1.0)
    assert len(tried) > 1 and 4 * tried[-1] <= 2**26 < 4 * tried[0]
