"""Random tiny models of many families: forward and backward equal the CPU's; no op is decomposed or runs on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import transformers as hf
from against_cpu import compare

VOCAB = 96
TEXT = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": VOCAB,
}
GROUPED = {**TEXT, "num_key_value_heads": 2, "max_position_embeddings": 64}
QUIET = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
ENCODER = {**TEXT, **QUIET, "max_position_embeddings": 64}
VISION = {**QUIET, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
PICTURE = {**VISION, "image_size": 16, "patch_size": 4}
SEQ2SEQ = {
    "d_model": 32,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "vocab_size": VOCAB,
    "dropout": 0.0,
    "attention_dropout": 0.0,
    "activation_dropout": 0.0,
}


def causal(name: str, **config) -> Callable[[], torch.nn.Module]:
    return lambda: hf.AutoModelForCausalLM.from_config(hf.AutoConfig.for_model(name, **config))


def model(cls: str, config: str, **options) -> Callable[[], torch.nn.Module]:
    return lambda: getattr(hf, cls)(getattr(hf, config)(**options))


def ids(seed: int = 1, length: int = 12) -> torch.Tensor:
    return torch.randint(4, VOCAB, (2, length), generator=torch.Generator().manual_seed(seed))


def noise(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, generator=torch.Generator().manual_seed(2))


def text() -> dict[str, torch.Tensor]:
    mask = torch.ones(2, 12, dtype=torch.long)
    mask[1, 9:] = 0
    return {"input_ids": ids(), "attention_mask": mask}


def language() -> dict[str, torch.Tensor]:
    return {**text(), "labels": ids()}


def classes() -> dict[str, torch.Tensor]:
    return {**text(), "labels": torch.tensor([0, 1])}


def translation() -> dict[str, torch.Tensor]:
    return {**text(), "labels": ids(3, 7)}


def pictures(size: int = 16) -> Callable[[], dict[str, torch.Tensor]]:
    return lambda: {"pixel_values": noise(2, 3, size, size)}


def clip_config() -> hf.CLIPConfig:
    vision = {k: v for k, v in PICTURE.items() if k not in QUIET}
    return hf.CLIPConfig(
        text_config={**TEXT, "max_position_embeddings": 16, "eos_token_id": 2}, vision_config=vision, projection_dim=16
    )


def llava() -> torch.nn.Module:
    vision = {k: v for k, v in PICTURE.items() if k not in QUIET}
    config = hf.LlavaConfig(
        vision_config=hf.CLIPVisionConfig(**vision), text_config=hf.LlamaConfig(**GROUPED), image_token_id=3
    )
    return hf.LlavaForConditionalGeneration(config)


def picture_and_text() -> dict[str, torch.Tensor]:
    tokens = torch.cat([torch.full((2, 16), 3), ids()], dim=1)
    return {"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "pixel_values": noise(2, 3, 16, 16)}


def sam() -> torch.nn.Module:
    config = hf.SamConfig(
        vision_config={
            "hidden_size": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "image_size": 32,
            "patch_size": 8,
            "mlp_dim": 48,
            "output_channels": 16,
            "window_size": 2,
            "global_attn_indexes": [1],
            "num_pos_feats": 8,
        },
        prompt_encoder_config={"hidden_size": 16, "image_size": 32, "patch_size": 8, "mask_input_channels": 4},
        mask_decoder_config={
            "hidden_size": 16,
            "mlp_dim": 24,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 16,
        },
    )
    return hf.SamModel(config)


FAMILIES: dict[str, tuple[Callable[[], torch.nn.Module], Callable[[], dict[str, torch.Tensor]]]] = {
    "qwen2": (causal("qwen2", **GROUPED), language),
    "qwen3": (causal("qwen3", **GROUPED, head_dim=8), language),
    "qwen3-moe": (
        causal("qwen3_moe", **GROUPED, head_dim=8, num_experts=8, num_experts_per_tok=2, moe_intermediate_size=16),
        language,
    ),
    "gemma3": (
        causal("gemma3_text", **GROUPED, head_dim=8, sliding_window=8, query_pre_attn_scalar=8),
        language,
    ),
    "mistral": (causal("mistral", **GROUPED, sliding_window=8), language),
    "mixtral": (causal("mixtral", **GROUPED, num_local_experts=4), language),
    "phi": (causal("phi", **TEXT, max_position_embeddings=64, resid_pdrop=0.0), language),
    "phi3": (causal("phi3", **GROUPED, pad_token_id=0, resid_pdrop=0.0), language),
    "gpt2": (
        causal("gpt2", n_embd=32, n_layer=2, n_head=4, vocab_size=VOCAB, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0),
        language,
    ),
    "gpt-oss": (
        causal("gpt_oss", **GROUPED, head_dim=8, num_local_experts=4, num_experts_per_tok=2, sliding_window=8), language
    ),
    "falcon": (causal("falcon", **TEXT, new_decoder_architecture=True, num_kv_heads=2), language),
    "bloom": (
        causal("bloom", hidden_size=32, n_layer=2, n_head=4, vocab_size=VOCAB, hidden_dropout=0, attention_dropout=0),
        language,
    ),
    "opt": (
        causal(
            "opt", hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=VOCAB,
            word_embed_proj_dim=32, dropout=0.0, max_position_embeddings=64,
        ),
        language,
    ),
    "mamba": (
        causal("mamba", hidden_size=32, state_size=4, num_hidden_layers=2, vocab_size=VOCAB),
        lambda: {"input_ids": ids(), "labels": ids()},
    ),
    "bert": (model("BertForSequenceClassification", "BertConfig", **ENCODER), classes),
    "roberta": (model("RobertaForSequenceClassification", "RobertaConfig", **ENCODER), classes),
    "deberta-v2": (
        model(
            "DebertaV2ForSequenceClassification", "DebertaV2Config", **ENCODER, relative_attention=True,
            pos_att_type=["p2c", "c2p"], position_buckets=8, norm_rel_ebd="layer_norm", share_att_key=True,
        ),
        classes,
    ),
    "distilbert": (
        model(
            "DistilBertForSequenceClassification", "DistilBertConfig", dim=32, hidden_dim=48, n_layers=2, n_heads=4,
            vocab_size=VOCAB, dropout=0.0, attention_dropout=0.0, seq_classif_dropout=0.0,
        ),
        classes,
    ),
    "modernbert": (
        model(
            "ModernBertForSequenceClassification", "ModernBertConfig", **TEXT, max_position_embeddings=64,
            pad_token_id=0, local_attention=8, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2,
        ),
        classes,
    ),
    "t5": (
        model(
            "T5ForConditionalGeneration", "T5Config", d_model=32, d_kv=8, d_ff=48, num_layers=1, num_heads=4,
            vocab_size=VOCAB, dropout_rate=0.0, decoder_start_token_id=0,
        ),
        translation,
    ),
    "bart": (
        model("BartForConditionalGeneration", "BartConfig", **SEQ2SEQ, max_position_embeddings=64), translation
    ),
    "whisper": (
        model(
            "WhisperForConditionalGeneration", "WhisperConfig", **SEQ2SEQ, num_mel_bins=8, max_source_positions=16,
            max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        ),
        lambda: {"input_features": noise(2, 8, 32), "labels": ids(3, 7)},
    ),
    "vit": (model("ViTForImageClassification", "ViTConfig", **PICTURE, num_labels=4), pictures()),
    "dinov2": (model("Dinov2ForImageClassification", "Dinov2Config", **PICTURE, num_labels=4), pictures()),
    "swin": (
        model(
            "SwinForImageClassification", "SwinConfig", **QUIET, image_size=16, patch_size=2, embed_dim=16,
            depths=[1, 1], num_heads=[2, 4], window_size=4, num_labels=4, drop_path_rate=0.0,
        ),
        pictures(),
    ),
    "convnext": (
        model("ConvNextForImageClassification", "ConvNextConfig", hidden_sizes=[8, 16], depths=[1, 1], num_stages=2),
        pictures(32),
    ),
    "clip": (
        lambda: hf.CLIPModel(clip_config()),
        lambda: {**text(), "pixel_values": noise(2, 3, 16, 16), "return_loss": True},
    ),
    "llava": (llava, lambda: {**picture_and_text(), "labels": picture_and_text()["input_ids"]}),
    "sam": (sam, lambda: {"pixel_values": noise(1, 3, 32, 32), "input_points": noise(1, 1, 1, 2).abs() * 8}),
    "wav2vec2": (
        model(
            "Wav2Vec2ForCTC", "Wav2Vec2Config", **TEXT, hidden_dropout=0.0, attention_dropout=0.0,
            activation_dropout=0.0, feat_proj_dropout=0.0, final_dropout=0.0, layerdrop=0.0, conv_dim=[16, 16],
            conv_stride=[4, 4], conv_kernel=[8, 4], num_feat_extract_layers=2, num_conv_pos_embeddings=4,
            num_conv_pos_embedding_groups=2,
            mask_time_prob=0.0,
        ),
        lambda: {"input_values": noise(2, 320)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_forward_and_backward_equal_the_cpus(name):
    make, batch = FAMILIES[name]
    compare(make, batch())
