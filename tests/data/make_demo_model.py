#!/usr/bin/env python3
"""Makes the demo's model and latents: a small trained AutoencoderKL and pictures for it.

    python tests/data/make_demo_model.py all        # train and finish (about 40 minutes on 2 cores), then latents
    python tests/data/make_demo_model.py train      # only demo_model/; likewise finish, which goes on with it, and latents
    python tests/data/make_demo_model.py check      # figures: reconstruction, tiled against untiled

It needs torch, diffusers, safetensors, scikit-image and pillow, and no network: the photographs
are the ones that lie inside the scikit-image wheel. Each is in the public domain or under CC0, by
the documentation of skimage.data:

    astronaut          NASA Great Images, public domain
    camera             CC0, Lav Varshney
    chelsea            CC0, Stefan van der Walt
    coffee             CC0, Rachel Michetti (courtesy of Pikolo Espresso Bar)
    hubble_deep_field  NASA, HubbleSite, public domain
    retina             CC0, Mikael Haggstrom, Wikimedia Commons
    rocket             SpaceX, released into the public domain

The model is trained on just the pictures that it decodes in the demo, so it is of no use beyond
them. Its layout is that of the usual factor-8 image VAE, only narrower. The seed is fixed, but
the sums of a training run depend on the number of threads and on the CPU: another run gives a
model of the same quality, not the same bytes.
"""

import argparse
import random
import time
from pathlib import Path

import numpy as np
import skimage.data
import torch
import torch.nn.functional as F
from diffusers import AutoencoderKL
from PIL import Image
from safetensors.torch import load_file, save_file

HERE = Path(__file__).resolve().parent
SEED = 20240517
CHANNELS = (32, 48, 96, 96)
PORTRAIT = "astronaut"
PHOTOS = ("astronaut", "camera", "chelsea", "coffee", "hubble_deep_field", "retina", "rocket")

# The phases of training: (steps, crop size in pixels, crops per step). The last ones are larger,
# for GroupNorm and attention see the whole picture and behave differently on a large one.
PHASES = ((600, 64, 4), (400, 96, 2), (200, 128, 2), (70, 192, 1), (26, 256, 1), (3, 512, 1))
PEAK_RATE = 1.5e-3
WARMUP = 40

# The last phases train the decoder on whole pictures: (steps, side of the portrait, steps between two other pictures).
# GroupNorm's statistics of a crop differ from the picture's, so a decoder trained on crops alone shifts the colours of
# whole pictures. The encoder stays fixed, and so do latents.
WHOLE_PHASES = ((120, 512, 3), (30, 768, 5), (30, 1024, 10))
WHOLE_RATE = 4e-4


def photo(name: str) -> Image.Image:
    """A photograph of scikit-image, as RGB."""
    return Image.fromarray(getattr(skimage.data, name)()).convert("RGB")


def cover(image: Image.Image, width: int, height: int) -> Image.Image:
    """Scales the image to cover width x height and crops what stands out, evenly."""
    scale = max(width / image.width, height / image.height)
    w, h = width / scale, height / scale
    left, top = (image.width - w) / 2, (image.height - h) / 2
    return image.resize((width, height), Image.Resampling.LANCZOS, (left, top, left + w, top + h))


def pictures() -> dict[str, Image.Image]:
    """The demo's pictures, by the name of their latents (width x height)."""
    return {
        "portrait_1024x1024": photo(PORTRAIT).resize((1024, 1024), Image.Resampling.LANCZOS),
        "photo_512x512": photo(PORTRAIT),
        "photo_768x512": cover(photo("coffee"), 768, 512),
        "photo_488x360": cover(photo("chelsea"), 488, 360),
    }


def to_tensor(image: Image.Image) -> torch.Tensor:
    """[1, 3, H, W] in -1..1."""
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)[None].float() / 127.5 - 1


def to_image(sample: torch.Tensor) -> Image.Image:
    pixels = ((sample[0].clamp(-1, 1) + 1) * 127.5).round().byte()
    return Image.fromarray(pixels.permute(1, 2, 0).numpy())


def random_crop(sources: list[torch.Tensor], size: int) -> torch.Tensor:
    """A crop from a random source (every other time the first), scaled and mirrored at random."""
    usable = [s for s in sources if min(s.shape[2:]) >= size]
    source = usable[0] if random.random() < 0.5 else random.choice(usable)
    span = min(round(size * random.uniform(0.85, 1.5)), *source.shape[2:])
    y = random.randint(0, source.shape[2] - span)
    x = random.randint(0, source.shape[3] - span)
    crop = source[:, :, y:y + span, x:x + span]
    if span != size:
        crop = F.interpolate(crop, (size, size), mode="bilinear", antialias=True)
    return crop.flip(3) if random.random() < 0.5 else crop


def picture_loss(out: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """L1 at three scales, a little MSE, and L1 of the differences between neighbours."""
    edges = sum(F.l1_loss(out.diff(dim=dim), target.diff(dim=dim)) for dim in (2, 3))
    scales = sum(F.l1_loss(F.avg_pool2d(out, n), F.avg_pool2d(target, n)) for n in (1, 2, 4))
    return F.mse_loss(out, target) + 0.5 * edges + scales


def rate(taken: int, progress: float) -> float:
    """The learning rate's share of its peak: a short warm-up, then half a cosine."""
    return min(1.0, (taken + 1) / WARMUP) * (0.5 + 0.5 * float(np.cos(np.pi * progress)))


def train(folder: Path, effort: float, minutes: float) -> None:
    """Trains effort times the steps of PHASES. Leaves steps out where time runs short."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    vae = AutoencoderKL(
        in_channels=3, out_channels=3, latent_channels=4, block_out_channels=CHANNELS,
        down_block_types=("DownEncoderBlock2D",) * 4, up_block_types=("UpDecoderBlock2D",) * 4,
        layers_per_block=1, norm_num_groups=8, sample_size=512,
    )
    print(f"{sum(p.numel() for p in vae.parameters()):,} parameters")
    vae.to(memory_format=torch.channels_last).train()
    sources = [to_tensor(p) for p in pictures().values()]
    sources += [to_tensor(cover(photo(n), 512, 512)) for n in PHOTOS]

    plan = [(size, batch) for steps, size, batch in PHASES for _ in range(round(steps * effort))]
    optimizer = torch.optim.AdamW(vae.parameters(), lr=PEAK_RATE, betas=(0.9, 0.98),
                                  weight_decay=1e-4)
    pixels = np.cumsum([size * size * batch for size, batch in plan])
    start, mean, taken = time.monotonic(), 1.0, 0
    for step, (size, batch) in enumerate(plan):
        if pixels[step] / pixels[-1] < (time.monotonic() - start) / (60 * minutes):
            continue
        target = torch.cat([random_crop(sources, size) for _ in range(batch)])
        posterior = vae.encode(target).latent_dist
        latent = posterior.mean
        out = vae.decode(latent + 0.03 * torch.randn_like(latent)).sample
        # Holds the latents near order one and their deviation, which is not trained, small.
        hold = 1e-3 * latent.square().mean() + 1e-4 * (posterior.logvar + 7).square().mean()
        loss = picture_loss(out, target)
        optimizer.param_groups[0]["lr"] = PEAK_RATE * rate(taken, step / len(plan))
        optimizer.zero_grad(set_to_none=True)
        (loss + hold).backward()
        torch.nn.utils.clip_grad_norm_(vae.parameters(), 1.0)
        optimizer.step()
        taken += 1
        mean += 0.03 * (loss.item() - mean)
        if taken % 50 == 0 or step + 1 == len(plan):
            print(f"step {step + 1}/{len(plan)} ({taken} taken), crop {size}, loss {mean:.4f}, deviation "
                  f"{latent.std().item():.2f}, {time.monotonic() - start:.0f} s", flush=True)

    vae.eval()
    with torch.no_grad():
        deviation = vae.encode(sources[0]).latent_dist.mean.std().item()
    vae.register_to_config(scaling_factor=round(1 / deviation, 5))
    vae.half().to(memory_format=torch.contiguous_format).save_pretrained(folder)


def load(folder: Path) -> AutoencoderKL:
    return AutoencoderKL.from_pretrained(folder, low_cpu_mem_usage=False).float().eval()


def finish(folder: Path) -> None:
    """Trains the decoder alone, with whole pictures."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    vae = load(folder)
    vae.requires_grad_(False)
    decoder = [*vae.decoder.parameters(), *vae.post_quant_conv.parameters()]
    for parameter in decoder:
        parameter.requires_grad_(True)
    vae.decoder.to(memory_format=torch.channels_last)
    optimizer = torch.optim.AdamW(decoder, lr=WHOLE_RATE, betas=(0.9, 0.98))
    others = [to_tensor(image) for name, image in pictures().items() if not name.startswith("portrait")]
    steps = [(side, every) for count, side, every in WHOLE_PHASES for _ in range(count)]
    for step, (side, every) in enumerate(steps):
        target = random.choice(others) if step % every == every - 1 else to_tensor(cover(photo(PORTRAIT), side, side))
        with torch.no_grad():
            latent = vae.encode(target).latent_dist.mean
        loss = picture_loss(vae.decode(latent + 0.02 * torch.randn_like(latent)).sample, target)
        optimizer.param_groups[0]["lr"] = WHOLE_RATE * rate(step, step / len(steps))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(decoder, 1.0)
        optimizer.step()
        if step % 10 == 9:
            print(f"whole {step + 1}/{len(steps)}, {target.shape[3]} pixels, loss {loss.item():.4f}", flush=True)
    vae.half().to(memory_format=torch.contiguous_format).save_pretrained(folder)


@torch.no_grad()
def latents(model: Path, folder: Path) -> None:
    """Writes each picture's latent as the decoder takes it: not scaled by scaling_factor."""
    vae = load(model)
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in pictures().items():
        latent = vae.encode(to_tensor(image)).latent_dist.mean.half().contiguous()
        save_file({"latent": latent}, folder / f"{name}.safetensors")
        print(f"{name}: {list(latent.shape)}, deviation {latent.float().std().item():.3f}, "
              f"largest {latent.abs().max().item():.2f}")


def psnr(a: torch.Tensor, b: torch.Tensor) -> float:
    """Peak signal-to-noise ratio in dB of pictures in -1..1, after clamping. The peak is 2."""
    return 10 * float(np.log10(4 / F.mse_loss(a.clamp(-1, 1), b.clamp(-1, 1)).item()))


@torch.no_grad()
def check(model: Path, folder: Path, png: Path | None) -> None:
    """Prints the reconstruction's PSNR, and what enable_tiling() of diffusers does to the portrait."""
    vae = load(model)
    decoded: dict[str, torch.Tensor] = {}
    for name, image in pictures().items():
        latent = load_file(folder / f"{name}.safetensors")["latent"].float()
        decoded[name] = vae.decode(latent).sample
        print(f"{name}: reconstruction {psnr(decoded[name], to_tensor(image)):.2f} dB", flush=True)
    name = "portrait_1024x1024"
    latent, whole = load_file(folder / f"{name}.safetensors")["latent"].float(), decoded[name]
    for tile in (32, 48, 64):
        vae.enable_tiling()
        vae.tile_latent_min_size, vae.tile_sample_min_size = tile, tile * 8
        vae.tile_overlap_factor = 0.25
        out = decoded[f"{name}_tiled_{tile}"] = vae.decode(latent).sample
        error = (out.clamp(-1, 1) - whole.clamp(-1, 1)).abs()
        print(f"tiles of {tile} against untiled: {psnr(out, whole):.2f} dB, error of 255: largest "
              f"{error.max().item() * 127.5:.1f}, mean {error.mean().item() * 127.5:.2f}", flush=True)
    if png:
        png.mkdir(parents=True, exist_ok=True)
        for name, sample in decoded.items():
            to_image(sample).save(png / f"{name}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("all", "train", "finish", "latents", "check"))
    parser.add_argument("--model", type=Path, default=HERE / "demo_model", help="the model's folder")
    parser.add_argument("--latents", type=Path, default=HERE / "latents", help="the latents' folder")
    parser.add_argument("--png", type=Path, help="check: also write the decoded pictures there")
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--effort", type=float, default=1.0,
                        help="train for this many times the steps, default: %(default)s")
    parser.add_argument("--minutes", type=float, default=25.0,
                        help="train no longer than about this, default: %(default)s")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.what in ("all", "train"):
        train(args.model, args.effort, args.minutes)
    if args.what in ("all", "finish"):
        finish(args.model)
    if args.what in ("all", "latents"):
        latents(args.model, args.latents)
    if args.what == "check":
        check(args.model, args.latents, args.png)


if __name__ == "__main__":
    main()
