"""Whole models train on tpu as on the CPU: losses over 50 steps, nothing compiled from the third step on, one host
read a step."""

from __future__ import annotations

import contextlib
import copy
import gc
import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
import tiny
import torch
import transformers

STEPS = 50


@dataclass
class Task:
    """A model, its batch by step, and how it is trained."""

    model: Callable[[], torch.nn.Module]
    batch: Callable[[torch.Generator], dict[str, torch.Tensor]]
    loss: Callable[[torch.nn.Module, dict[str, torch.Tensor]], torch.Tensor]
    optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.AdamW
    options: dict = field(default_factory=lambda: {"lr": 1e-3, "fused": True})
    autocast: torch.dtype | None = None
    scaler: bool = False
    first_scale: float = 2.0**20  # so large that the first steps overflow
    clip: float | None = None
    accumulate: int = 1
    rtol: float = 1e-3  # of the loss at each step
    reads: int = 0  # host reads a step


def causal_loss(model, batch):
    return model(input_ids=batch["ids"], labels=batch["ids"]).loss


def labelled_loss(model, batch):
    return model(**batch).loss


def tokens(generator):
    return {"ids": torch.randint(0, 96, (4, 24), generator=generator)}


def llama(checkpointing: bool = False):
    def make():
        model = tiny.llama()
        if checkpointing:
            model.gradient_checkpointing_enable()
        return model

    return make


def bert():
    config = transformers.BertConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        vocab_size=96,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    return transformers.BertForSequenceClassification(config)


def sentences(generator):
    ids = torch.randint(0, 96, (4, 16), generator=generator)
    mask = torch.ones_like(ids)
    mask[1, 9:] = 0
    return {"input_ids": ids, "attention_mask": mask, "labels": ids[:, 0] % 2}


def vit():
    config = transformers.ViTConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=16,
        patch_size=4,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=4,
    )
    return transformers.ViTForImageClassification(config)


def resnet():
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=4
    )
    return transformers.ResNetForImageClassification(config)


def pictures(generator):
    labels = torch.randint(0, 4, (8,), generator=generator)
    return {
        "pixel_values": torch.randn(8, 3, 16, 16, generator=generator) + labels.view(-1, 1, 1, 1),
        "labels": labels,
    }


def noisy_pictures(generator):
    return {
        "clean": torch.randn(4, 3, 8, 8, generator=generator),
        "noise": torch.randn(4, 3, 8, 8, generator=generator),
        "times": torch.randint(0, 100, (4,), generator=generator),
    }


def denoising_loss(model, batch):
    import diffusers

    noisy = diffusers.DDPMScheduler(num_train_timesteps=100).add_noise(batch["clean"], batch["noise"], batch["times"])
    return torch.nn.functional.mse_loss(model(noisy, batch["times"]).sample, batch["noise"])


# Reads: Transformers looks whether a batch without a cache and a mask is packed, and whether a mask hides anything; the
# scaler looks whether the step must be left out, unless the optimizer does so on the device.
SGD = {"optimizer": torch.optim.SGD, "options": {"lr": 0.05, "momentum": 0.9, "nesterov": True, "fused": True}}
TASKS = {
    "llama": Task(llama(), tokens, causal_loss),
    "llama-foreach-clipped": Task(llama(), tokens, causal_loss, options={"lr": 1e-3, "foreach": True}, clip=0.5),
    "llama-checkpointing": Task(llama(checkpointing=True), tokens, causal_loss, reads=1),
    "llama-accumulating": Task(llama(), tokens, causal_loss, accumulate=2, clip=1.0),
    "llama-bf16-autocast": Task(llama(), tokens, causal_loss, autocast=torch.bfloat16, rtol=2e-2),
    "llama-f16-scaler": Task(llama(), tokens, causal_loss, autocast=torch.float16, scaler=True, clip=1.0, rtol=2e-2),
    "llama-f16-scaler-foreach": Task(
        llama(),
        tokens,
        causal_loss,
        options={"lr": 1e-3, "foreach": True},
        autocast=torch.float16,
        scaler=True,
        first_scale=2.0**10,
        rtol=2e-2,
        reads=1,
    ),
    "bert": Task(bert, sentences, labelled_loss, reads=1),
    "vit": Task(vit, pictures, labelled_loss),
    "resnet": Task(resnet, pictures, labelled_loss, **SGD),
    "unet": Task(tiny.unet, noisy_pictures, denoising_loss),
}


@dataclass
class Run:
    losses: torch.Tensor
    scale: float
    compiles: list[int]  # after each step
    reads: list[int]


def train(task: Task, model: torch.nn.Module, device: str, steps: int = STEPS, watch=lambda *_: None) -> Run:
    model = copy.deepcopy(model).to(device).train()
    optimizer = task.optimizer(model.parameters(), **task.options)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0 / (1 + 0.05 * step))
    scaler = torch.amp.GradScaler(device, init_scale=task.first_scale, growth_interval=10, enabled=task.scaler)
    batches = torch.Generator().manual_seed(5)
    run = Run(torch.zeros(steps), 1.0, [], [])
    losses = []
    for _ in range(steps):
        total = 0
        for _ in range(task.accumulate):
            batch = {name: x.to(device) for name, x in task.batch(batches).items()}
            cast = torch.autocast(device, task.autocast) if task.autocast else contextlib.nullcontext()
            with cast:
                loss = task.loss(model, batch) / task.accumulate
            scaler.scale(loss).backward()
            total = total + loss.detach()
        scaler.unscale_(optimizer)
        if task.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), task.clip)
        scaler.step(optimizer)
        scaler.update()
        schedule.step()
        optimizer.zero_grad()
        watch(total)
        losses.append(total)
        if device == "tpu":
            stats = torch.tpu.compile_stats()
            run.compiles.append(stats["compiles"])
            run.reads.append(stats["host_syncs"])
    run.losses = torch.stack(losses).float().cpu()
    run.scale = scaler.get_scale()
    return run


def start(task: Task) -> torch.nn.Module:
    torch.manual_seed(0)
    return task.model()


@pytest.mark.parametrize("name", TASKS)
def test_losses_follow_the_cpus(name):
    task = TASKS[name]
    model = start(task)
    expected = train(task, model, "cpu")
    torch.tpu.reset_stats()
    got = train(task, model, "tpu")
    assert torch.isfinite(expected.losses).all()
    torch.testing.assert_close(got.losses, expected.losses, rtol=task.rtol, atol=0)
    assert got.scale == expected.scale
    assert got.compiles[-1] == got.compiles[2], got.compiles
    assert {after - before for before, after in itertools.pairwise(got.reads[2:])} == {task.reads}, got.reads
    assert torch.tpu.fallback_stats() == {}
    assert torch.tpu.decomposition_stats() == {}


def test_a_print_in_the_middle_changes_no_bit(capsys):
    task = TASKS["llama"]
    model = start(task)
    quiet = train(task, model, "tpu", steps=6)
    loud = train(task, model, "tpu", steps=6, watch=print)
    assert torch.equal(quiet.losses, loud.losses)
    assert capsys.readouterr().out.count("tensor(") == 6


def deep_llama():
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=256, num_hidden_layers=8, num_attention_heads=4, vocab_size=64
    )
    return transformers.LlamaForCausalLM(config)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_takes_less_memory(reentrant):
    def peak(checkpointing: bool) -> tuple[int, torch.Tensor]:
        torch.manual_seed(0)
        model = deep_llama().to("tpu").train()
        if checkpointing:
            model.gradient_checkpointing_enable({"use_reentrant": reentrant})
        ids = torch.randint(0, 64, (8, 128)).to("tpu")
        loss = model(input_ids=ids, labels=ids, use_cache=False).loss
        loss.backward()
        gradient = model.model.layers[0].mlp.up_proj.weight.grad.cpu()
        model.zero_grad()
        gc.collect()
        torch.tpu.reset_peak_memory_stats()
        before = torch.tpu.memory_allocated()
        model(input_ids=ids, labels=ids, use_cache=False).loss.backward()
        torch.tpu.synchronize()
        return torch.tpu.max_memory_allocated() - before, gradient

    plain, expected = peak(False)
    less, gradient = peak(True)
    torch.testing.assert_close(gradient, expected)
    assert less < 0.6 * plain, (less, plain)
