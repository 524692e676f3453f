"""Small models and data that several tests train."""

from __future__ import annotations

import torch
import transformers

VOCAB = 96


def llama(vocab: int = VOCAB, **more) -> transformers.LlamaForCausalLM:
    """Two layers, always the same weights."""
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        vocab_size=vocab,
        **more,
    )
    return transformers.LlamaForCausalLM(config)


def unet():
    """A Diffusers UNet for 8 x 8 pictures of three channels, with attention."""
    import diffusers

    return diffusers.UNet2DModel(
        sample_size=8,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        norm_num_groups=4,
        block_out_channels=(8, 16),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=4,
    )


class Sentences(torch.utils.data.Dataset):
    """Random token rows, each its own label."""

    def __init__(self, count: int = 32, length: int = 16) -> None:
        self.rows = torch.randint(4, VOCAB, (count, length), generator=torch.Generator().manual_seed(0))

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        return {"input_ids": self.rows[index], "labels": self.rows[index]}
