"""A small BERT, made on the spot, learns on the device tpu whether a sentence speaks of the sea or of the hills."""

from __future__ import annotations

import argparse
import random

import torch
from transformers import BertConfig, BertForSequenceClassification

SEA = ["wave", "harbour", "salt", "gull", "tide", "anchor", "sail", "reef"]
HILLS = ["ridge", "pine", "summit", "slope", "valley", "stone", "path", "eagle"]
COMMON = ["the", "a", "old", "grey", "we", "saw", "near", "and", "then", "quiet"]
WORDS = ["<pad>", *COMMON, *SEA, *HILLS]
LENGTH = 8


def batch(count: int, chance: random.Random) -> dict[str, torch.Tensor]:
    """`count` random sentences [count, LENGTH] with their labels, on tpu."""
    ids, labels = [], []
    for _ in range(count):
        label = chance.randrange(2)
        words = [chance.choice(COMMON) for _ in range(LENGTH - 2)]
        words += [chance.choice((SEA, HILLS)[label]) for _ in range(2)]
        chance.shuffle(words)
        ids.append([WORDS.index(word) for word in words])
        labels.append(label)
    return {"input_ids": torch.tensor(ids).to("tpu"), "labels": torch.tensor(labels).to("tpu")}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60, help="training steps (default 60)")
    wish = parser.parse_args()

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS), hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
    )
    model = BertForSequenceClassification(config).to("tpu").train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, fused=True)
    chance = random.Random(0)
    for step in range(wish.steps):
        with torch.autocast("tpu", torch.bfloat16):
            loss = model(**batch(16, chance)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    model.eval()
    held_out = batch(100, chance)
    with torch.no_grad():
        right = (model(input_ids=held_out["input_ids"]).logits.argmax(-1) == held_out["labels"]).float().mean().item()
    print(f"{right:.0%} of 100 new sentences right, {torch.tpu.compile_stats()['compiles']} programs compiled")


if __name__ == "__main__":
    main()
