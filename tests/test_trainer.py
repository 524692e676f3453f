"""Transformers' Trainer on tpu: losses equal the CPU's, a resumed run equals one that was not interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny
import torch
import transformers


class Counts(transformers.TrainerCallback):
    """Compiles after each step."""

    def __init__(self) -> None:
        self.compiles: list[int] = []

    def on_step_end(self, *_, **__) -> None:
        self.compiles.append(torch.tpu.compile_stats()["compiles"])


def trainer(folder: Path, steps: int = 8, dropout: float = 0.0, **options) -> transformers.Trainer:
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=4,
        max_steps=steps,
        logging_steps=1,
        report_to=[],
        learning_rate=1e-3,
        disable_tqdm=True,
        **{"save_strategy": "no", **options},
    )
    return transformers.Trainer(
        model=tiny.llama(attention_dropout=dropout),
        args=arguments,
        train_dataset=tiny.Sentences(),
        eval_dataset=tiny.Sentences(8),
        callbacks=[Counts()],
    )


def losses(run: transformers.Trainer, key: str = "loss") -> list[float]:
    return [entry[key] for entry in run.state.log_history if key in entry]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradient_accumulation_steps": 2, "gradient_checkpointing": True},
        {"optim": "adamw_torch", "max_grad_norm": 0.5, "lr_scheduler_type": "cosine"},
        {"dataloader_num_workers": 2, "dataloader_persistent_workers": True},
        {"bf16": True},
        {"torch_compile": True},
    ],
    ids=["default", "accumulate-checkpoint", "foreach-cosine", "workers", "bf16", "compile"],
)
def test_losses_equal_the_cpus(options, tmp_path):
    run = trainer(tmp_path, **options)
    assert run.args.device == torch.device("tpu:0")
    run.train()
    assert next(run.model.parameters()).device.type == "tpu"
    compiles = _counts(run).compiles
    assert compiles[-1] == compiles[2], compiles
    reference = trainer(tmp_path, use_cpu=True, **{k: v for k, v in options.items() if k != "torch_compile"})
    reference.train()
    close = 2e-2 if options.get("bf16") else 1e-3
    assert losses(run) == pytest.approx(losses(reference), rel=close)
    assert torch.tpu.fallback_stats() == {}


def _counts(run: transformers.Trainer) -> Counts:
    return next(c for c in run.callback_handler.callbacks if isinstance(c, Counts))


def test_evaluation_and_prediction_equal_the_cpus(tmp_path):
    run = trainer(tmp_path)
    loss, got = run.evaluate()["eval_loss"], run.predict(tiny.Sentences(5))
    # Only now: Accelerate knows one device at a time.
    reference = trainer(tmp_path, use_cpu=True)
    assert loss == pytest.approx(reference.evaluate()["eval_loss"], rel=1e-4)
    expected = reference.predict(tiny.Sentences(5))
    torch.testing.assert_close(torch.tensor(got.predictions), torch.tensor(expected.predictions), rtol=1e-3, atol=1e-4)


def test_a_resumed_run_equals_one_that_was_not_interrupted(tmp_path):
    options = {"save_strategy": "steps", "save_steps": 4, "eval_strategy": "steps", "eval_steps": 4, "dropout": 0.2}
    whole = trainer(tmp_path, **options)
    whole.train()
    torch.rand(3, device="tpu")  # moves the device's generator
    resumed = trainer(tmp_path, **options)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert losses(resumed) == losses(whole)
    assert losses(resumed, "eval_loss") == losses(whole, "eval_loss")


def test_the_best_model_is_loaded_at_the_end(tmp_path):
    run = trainer(
        tmp_path,
        save_strategy="steps",
        save_steps=4,
        eval_strategy="steps",
        eval_steps=4,
        load_best_model_at_end=True,
        metric_for_best_model="eval_loss",
    )
    run.train()
    assert run.state.best_model_checkpoint is not None
    assert run.evaluate()["eval_loss"] == pytest.approx(min(losses(run, "eval_loss")), rel=1e-5)
