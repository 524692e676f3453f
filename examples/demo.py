"""A Hugging Face model answers on the device tpu: a static cache, and each decode step one program through
torch.compile(backend="tpu"), which generate() asks for by itself on this device."""

from __future__ import annotations

import argparse
import os
import time

# Nothing is downloaded.
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import smollm2
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, TextStreamer
from transformers.utils import logging


class Silent(TextStreamer):
    """Looks at each token as a streamer does, and shows nothing."""

    def on_finalized_text(self, text: str, stream_end: bool = False) -> None:
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompt", default="Explain what a matrix unit is.")
    parser.add_argument("--tokens", type=int, default=64, help="how many to generate (default 64)")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    wish = parser.parse_args()
    logging.disable_progress_bar()

    if not torch.tpu.is_available():
        raise SystemExit(f"there is no device: {torch.tpu.why_unavailable()}")
    properties = torch.tpu.get_device_properties()
    api = ".".join(map(str, properties.pjrt_api_version))
    print(f"device tpu:0 is {properties.name}, by {os.path.basename(properties.plugin)} with PJRT API {api}")
    folder = smollm2.model_folder(say=print)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, wish.dtype)).eval().to("tpu")

    # The ids stay on the host: they grow with each token, and generate() moves what the model needs.
    chat = [{"role": "user", "content": wish.prompt}]
    inputs = tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    how = {"max_new_tokens": wish.tokens, "do_sample": False, "cache_implementation": "static"}

    print(f"\n> {wish.prompt}\n")
    begin = time.perf_counter()
    model.generate(**inputs, **how, streamer=TextStreamer(tokenizer, skip_prompt=True, skip_special_tokens=True))
    torch.tpu.synchronize()
    first = time.perf_counter() - begin
    stats = torch.tpu.compile_stats()

    # Once more, for the speed without tracing and compiling.
    begin = time.perf_counter()
    outputs = model.generate(**inputs, **how, streamer=Silent(tokenizer, skip_prompt=True))
    count = outputs.shape[1] - inputs["input_ids"].shape[1]
    seconds = time.perf_counter() - begin

    print(f"\nfirst answer   {first:.1f} s, of which compiling {stats['compile_seconds']:.1f} s")
    print(f"programs       {stats['compiles']} compiled, {stats['disk_hits']} from the disk cache")
    print(f"second answer  {count / seconds:.1f} tokens/s ({count} tokens in {seconds:.2f} s)")
    later = torch.tpu.compile_stats()["compiles"] - stats["compiles"]
    print(f"               {later} programs compiled")
    for what, ops in (("the CPU", torch.tpu.fallback_stats()), ("decompositions", torch.tpu.decomposition_stats())):
        if ops:
            print(f"ops through {what}: {ops}")


if __name__ == "__main__":
    main()
