"""SmolLM2-135M-Instruct learns a small text by LoRA, with Trainer and PEFT, on the device tpu."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

# Nothing is downloaded.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import peft
import smollm2
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments

BLOCK = 32  # tokens a row


def rows(tokenizer: AutoTokenizer, text: str) -> list[dict[str, list[int]]]:
    """The text in rows of one length, so that every step has the same shapes."""
    tokens = tokenizer(text).input_ids
    blocks = [tokens[start : start + BLOCK] for start in range(0, len(tokens) - BLOCK + 1, BLOCK)]
    return [{"input_ids": block, "labels": block} for block in blocks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--text", type=Path, default=Path(__file__).with_name("garden.txt"))
    parser.add_argument("--steps", type=int, default=30, help="optimizer steps (default 30)")
    parser.add_argument("--output", type=Path, default=Path("build/garden-lora"), help="folder of the adapter")
    wish = parser.parse_args()

    folder = smollm2.model_folder(say=print)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    adapter = peft.LoraConfig(r=8, lora_alpha=16, target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, adapter)
    model.print_trainable_parameters()
    arguments = TrainingArguments(
        output_dir=str(wish.output),
        max_steps=wish.steps,
        per_device_train_batch_size=2,
        dataloader_drop_last=True,  # another batch size would be another program
        learning_rate=2e-3,
        logging_steps=5,
        save_strategy="no",
        report_to=[],
    )
    trainer = Trainer(model=model, args=arguments, train_dataset=rows(tokenizer, wish.text.read_text()))
    print(f"training on {arguments.device}")
    trainer.train()
    model.save_pretrained(wish.output)
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    stats = torch.tpu.compile_stats()
    print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}, {stats['compiles']} programs compiled, adapter in {wish.output}")


if __name__ == "__main__":
    main()
