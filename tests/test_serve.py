"""`transformers serve` on tpu answers OpenAI's client; continuous batching compiles nothing after its warm-up."""

from __future__ import annotations

import concurrent.futures
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
import smollm2
import tiny
import torch
import transformers
from transformers import ContinuousBatchingConfig, GenerationConfig

WORDS = ["the", "cat", "sat", "on", "a", "mat", "rain", "again"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny Llama with a real tokenizer."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(smollm2.model_folder())
    model = tiny.llama(vocab=len(tokenizer), max_position_embeddings=2048)
    model.generation_config.eos_token_id = model.config.eos_token_id = tokenizer.eos_token_id
    path = tmp_path_factory.mktemp("served")
    model.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def expected(folder: Path):
    """The CPU's greedy answer to a prompt."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder)

    def answer(prompt: str, tokens: int) -> str:
        chat = [{"role": "user", "content": prompt}]
        ids = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
        out = model.generate(**ids, max_new_tokens=tokens, do_sample=False)
        return tokenizer.decode(out[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)

    return answer


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def ask(client: openai.OpenAI, folder: Path, prompt: str, tokens: int, stream: bool) -> str:
    chat = {"model": str(folder), "messages": [{"role": "user", "content": prompt}], "max_tokens": tokens}
    if stream:
        parts = client.chat.completions.create(stream=True, temperature=0, **chat)
        return "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    return client.chat.completions.create(temperature=0, **chat).choices[0].message.content


@pytest.fixture
def served(folder: Path, tmp_path: Path) -> Iterator[openai.OpenAI]:
    """`transformers serve --device tpu` in a child."""
    port = free_port()
    command = [Path(sys.executable).with_name("transformers"), "serve", folder]
    command += ["--device", "tpu", "--dtype", "float32", "--port", str(port)]
    with (tmp_path / "log").open("w") as log:
        child = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, "HF_HUB_OFFLINE": "1"})
    client = openai.OpenAI(base_url=f"http://localhost:{port}/v1", api_key="none", max_retries=0, timeout=120)
    try:
        end = time.monotonic() + 120
        while True:
            try:
                client.models.list()
                break
            except openai.APIConnectionError:
                assert child.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()
                time.sleep(0.2)
        yield client
    finally:
        child.terminate()
        child.wait(30)


def test_serve_answers_as_the_cpu_does(served: openai.OpenAI, folder: Path, expected) -> None:
    for stream in (False, True):
        assert ask(served, folder, "the cat sat", 4, stream) == expected("the cat sat", 4)


def test_continuous_batching_of_200_requests_compiles_nothing(folder: Path, expected) -> None:
    from transformers.cli.serve import Serve

    port = free_port()
    server = Serve(
        force_model=str(folder),
        continuous_batching=True,
        device="tpu",
        dtype="float32",
        port=port,
        cb_block_size=16,
        cb_num_blocks=64,
        cb_max_batch_tokens=128,
        non_blocking=True,
    )
    client = openai.OpenAI(base_url=f"http://localhost:{port}/v1", api_key="none", timeout=120)
    pick = random.Random(0)
    prompts = [" ".join(pick.choices(WORDS, k=pick.randint(1, 40))) for _ in range(200)]

    def answer(number: int) -> str:
        return ask(client, folder, prompts[number], 2 + number % 7, stream=number % 2 == 1)

    try:
        answer(0)
        before = torch.tpu.compile_stats()["compiles"]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(answer, range(200)))
        assert torch.tpu.compile_stats()["compiles"] == before
    finally:
        server.kill_server()
    for number in range(0, 200, 20):
        assert answers[number] == expected(prompts[number], 2 + number % 7)


def test_continuous_batching_reads_once_a_batch(folder: Path) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, device_map="tpu")
    manager = model.init_continuous_batching(
        generation_config=GenerationConfig(max_new_tokens=8, do_sample=False, eos_token_id=-1),
        continuous_batching_config=ContinuousBatchingConfig(num_blocks=16, page_size=16, max_batch_tokens=64),
    )
    manager.warmup()
    before = torch.tpu.compile_stats()
    manager.add_request([5, 6, 7], max_new_tokens=8)
    manager.start()
    try:
        while (result := manager.get_result(timeout=60)) is None or not result.is_finished():
            assert result is not None
    finally:
        manager.stop(block=True)
    after = torch.tpu.compile_stats()
    assert len(result.generated_tokens) == 8
    assert after["compiles"] == before["compiles"]
    # Eight batches, and one more may have been in the making.
    assert 8 <= after["host_syncs"] - before["host_syncs"] <= 9


def test_sizes_end_at_the_largest() -> None:
    from torch_pjrt.integrations.continuous_batching import sizes

    assert sizes(16, 256) == [16, 64, 256]
    assert sizes(16, 100) == [16, 64, 100]
    assert sizes(256, 64) == [64]
