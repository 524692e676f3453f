"""generate() beyond the plain decoder, and pipelines: results equal the CPU's."""

from __future__ import annotations

import copy

import pytest
import tiny
import tokenizers
import torch
import transformers as hf
from test_families import FAMILIES, PICTURE, VOCAB, noise


def on_both(make):
    torch.manual_seed(0)
    model = make().eval()
    return model, copy.deepcopy(model).to("tpu")


def ids(length: int = 9) -> torch.Tensor:
    return torch.randint(4, VOCAB, (2, length), generator=torch.Generator().manual_seed(1))


PLAIN = {"max_new_tokens": 8, "do_sample": False, "pad_token_id": 0, "eos_token_id": None}


@pytest.mark.parametrize("name", ["gemma3", "mistral", "gpt-oss", "mamba", "t5", "bart"])
def test_families_generate_the_cpus_tokens(name):
    cpu, tpu = on_both(FAMILIES[name][0])
    torch.tpu.reset_stats()
    assert torch.equal(tpu.generate(ids().to("tpu"), **PLAIN).cpu(), cpu.generate(ids(), **PLAIN))
    assert torch.tpu.fallback_stats() == {}


def test_whisper_writes_what_it_writes_on_the_cpu():
    cpu, tpu = on_both(FAMILIES["whisper"][0])
    options = {"max_new_tokens": 6, "do_sample": False}
    features = noise(2, 8, 32)
    assert torch.equal(tpu.generate(features.to("tpu"), **options).cpu(), cpu.generate(features, **options))


def test_an_assistant_changes_no_token():
    cpu, tpu = on_both(tiny.llama)
    small = copy.deepcopy(tpu)
    one = ids()[:1]
    expected = cpu.generate(one, **PLAIN)
    assert torch.equal(tpu.generate(one.to("tpu"), assistant_model=small, **PLAIN).cpu(), expected)


def test_a_streamer_sees_every_token():
    class Seen(hf.generation.streamers.BaseStreamer):
        def __init__(self) -> None:
            self.tokens: list[int] = []

        def put(self, value: torch.Tensor) -> None:
            self.tokens += value.flatten().tolist()

        def end(self) -> None:
            self.tokens.append(-1)

    _, tpu = on_both(tiny.llama)
    seen = Seen()
    got = tpu.generate(ids()[:1].to("tpu"), streamer=seen, **PLAIN)
    assert seen.tokens == [*got[0].tolist(), -1]


def tokenizer() -> hf.PreTrainedTokenizerFast:
    vocabulary = {
        text: i for i, text in enumerate(["<pad>", "<eos>", "<unk>", "<mask>", *(f"w{i}" for i in range(92))])
    }
    model = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    model.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=model, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", mask_token="<mask>"
    )


def bert(cls: str) -> hf.PreTrainedModel:
    torch.manual_seed(0)
    config = hf.BertConfig(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, vocab_size=VOCAB
    )
    return getattr(hf, cls)(config).eval()


@pytest.mark.parametrize(
    ("task", "model", "text"),
    [
        ("text-generation", tiny.llama, "w3 w4 w5"),
        ("text-classification", lambda: bert("BertForSequenceClassification"), ["w1 w2", "w3"]),
        ("token-classification", lambda: bert("BertForTokenClassification"), "w1 w2 w9"),
        ("fill-mask", lambda: bert("BertForMaskedLM"), "w1 <mask> w3"),
        ("feature-extraction", lambda: bert("BertModel"), "w1 w2"),
    ],
    ids=lambda x: x if isinstance(x, str) else None,
)
def test_text_pipelines(task, model, text):
    def run(device: str):
        options = {"max_new_tokens": 5, "do_sample": False} if task == "text-generation" else {}
        made = hf.pipeline(task, model=model(), tokenizer=tokenizer(), device=device)
        assert made.model.device.type == device
        return made(text, **options)

    compare(run("tpu"), run("cpu"))


def test_image_classification_pipeline():
    from PIL import Image

    picture = Image.fromarray((noise(16, 16, 3).sigmoid() * 255).to(torch.uint8).numpy())

    def run(device: str):
        torch.manual_seed(0)
        model = hf.ViTForImageClassification(hf.ViTConfig(**PICTURE, num_labels=4)).eval()
        processor = hf.ViTImageProcessor(size={"height": 16, "width": 16})
        return hf.pipeline("image-classification", model=model, image_processor=processor, device=device)(picture)

    compare(run("tpu"), run("cpu"))


def test_speech_pipeline():
    def run(device: str):
        torch.manual_seed(0)
        model = FAMILIES["wav2vec2"][0]().eval()
        extractor = hf.Wav2Vec2FeatureExtractor()
        words = hf.pipeline(
            "automatic-speech-recognition",
            model=model,
            feature_extractor=extractor,
            tokenizer=tokenizer(),
            device=device,
        )
        return words(noise(400).numpy())

    compare(run("tpu"), run("cpu"))


def compare(got, expected) -> None:
    """Equal, numbers nearly."""
    if isinstance(expected, dict):
        assert got.keys() == expected.keys()
        for key in expected:
            compare(got[key], expected[key])
    elif isinstance(expected, (list, tuple)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            compare(a, b)
    elif isinstance(expected, float):
        assert got == pytest.approx(expected, rel=1e-3, abs=1e-5)
    elif hasattr(expected, "dtype"):
        assert float(got) == pytest.approx(float(expected), rel=1e-3, abs=1e-5)
    else:
        assert got == expected


def test_weights_go_to_the_device_and_back(tmp_path):
    cpu, tpu = on_both(tiny.llama)
    tpu.save_pretrained(tmp_path)
    for dtype in (torch.float32, torch.bfloat16):
        loaded = hf.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=dtype, device_map="tpu")
        assert {(p.device.type, p.dtype) for p in loaded.parameters()} == {("tpu", dtype)}
        got = loaded(ids().to("tpu")).logits.float().cpu()
        close = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 0.1, "atol": 0.05}
        torch.testing.assert_close(got, cpu(ids()).logits, **close)
