"""A diffusion pipeline on the device tpu. Its small UNet is made on the spot and learns one picture, a disc, first."""

from __future__ import annotations

import argparse
from pathlib import Path

import diffusers
import torch

SIZE = 16


def disc(count: int) -> torch.Tensor:
    """`count` pictures [count, 1, SIZE, SIZE] from -1 to 1 of a bright disc in the middle."""
    line = torch.linspace(-1, 1, SIZE)
    inside = (line[:, None] ** 2 + line[None, :] ** 2 < 0.4).float() * 2 - 1
    return inside.expand(count, 1, SIZE, SIZE).clone()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200, help="training steps (default 200)")
    parser.add_argument("--denoising-steps", type=int, default=20)
    parser.add_argument("--output", type=Path, default=Path("build/disc.png"))
    wish = parser.parse_args()

    torch.manual_seed(0)
    unet = diffusers.UNet2DModel(
        sample_size=SIZE,
        in_channels=1,
        out_channels=1,
        layers_per_block=1,
        norm_num_groups=8,
        block_out_channels=(16, 32),
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    ).to("tpu")
    scheduler = diffusers.DDIMScheduler(num_train_timesteps=100)
    optimizer = torch.optim.AdamW(unet.parameters(), lr=2e-3)
    clean = disc(8).to("tpu")
    first = last = None
    for step in range(wish.steps):
        noise = torch.randn(clean.shape, device="tpu")
        times = torch.randint(0, 100, (len(clean),), device="tpu")
        predicted = unet(scheduler.add_noise(clean, noise, times), times).sample
        loss = torch.nn.functional.mse_loss(predicted, noise)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step in (0, wish.steps - 1):
            first, last = first or loss.item(), loss.item()
    pipeline = diffusers.DDIMPipeline(unet=unet, scheduler=scheduler)
    pipeline.set_progress_bar_config(disable=True)
    image = pipeline(num_inference_steps=wish.denoising_steps, generator=torch.Generator().manual_seed(0)).images[0]
    wish.output.parent.mkdir(parents=True, exist_ok=True)
    image.resize((SIZE * 8, SIZE * 8)).save(wish.output)
    print(f"loss {first:.2f} -> {last:.2f}, {torch.tpu.compile_stats()['compiles']} programs compiled, {wish.output}")


if __name__ == "__main__":
    main()
