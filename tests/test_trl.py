"""TRL's trainers on tpu: losses equal the CPU's."""

from __future__ import annotations

from pathlib import Path

import datasets
import pytest
import tiny
import tokenizers
import torch
import transformers
import trl

WORDS = [f"word{i}" for i in range(80)]


def tokenizer() -> transformers.PreTrainedTokenizerFast:
    """One token a word."""
    vocabulary = {text: i for i, text in enumerate(["<pad>", "<eos>", "<unk>", *WORDS])}
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=model, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )


def sentence(seed: int, length: int) -> str:
    picks = torch.randint(0, len(WORDS), (length,), generator=torch.Generator().manual_seed(seed))
    return " ".join(WORDS[i] for i in picks)


def options(folder: Path, cpu: bool) -> dict:
    return {
        "output_dir": str(folder),
        "per_device_train_batch_size": 4,
        "max_steps": 5,
        "logging_steps": 1,
        "report_to": [],
        "learning_rate": 1e-3,
        "save_strategy": "no",
        "use_cpu": cpu,
        "bf16": False,
        "disable_tqdm": True,
    }


def sft(folder: Path, cpu: bool) -> trl.SFTTrainer:
    data = datasets.Dataset.from_dict({"text": [sentence(i, 6 + i % 5) for i in range(20)]})
    return trl.SFTTrainer(
        model=tiny.llama(),
        args=trl.SFTConfig(**options(folder, cpu), max_length=16),
        train_dataset=data,
        processing_class=tokenizer(),
    )


def dpo(folder: Path, cpu: bool) -> trl.DPOTrainer:
    rows = [
        {"prompt": sentence(i, 4), "chosen": sentence(100 + i, 5), "rejected": sentence(200 + i, 4)} for i in range(20)
    ]
    return trl.DPOTrainer(
        model=tiny.llama(),
        ref_model=tiny.llama(),
        args=trl.DPOConfig(**options(folder, cpu)),
        train_dataset=datasets.Dataset.from_list(rows),
        processing_class=tokenizer(),
    )


@pytest.mark.parametrize("make", [sft, dpo])
def test_losses_equal_the_cpus(make, tmp_path):
    def losses(cpu: bool) -> list[float]:
        run = make(tmp_path, cpu)
        assert run.args.device.type == ("cpu" if cpu else "tpu")
        run.train()
        return [entry["loss"] for entry in run.state.log_history if "loss" in entry]

    assert losses(False) == pytest.approx(losses(True), rel=1e-3)
    assert torch.tpu.fallback_stats() == {}
