"""Measures how far TF32 moves a decode from full fp32, on the CPU.

  build/venv/bin/python reports/bench/tf32_error.py [--model sdxl] [--size 512] [--seeds 1]

diffusers decodes a normal latent with seeded random weights. The inputs and weights of convolutions, and of matrix products if
asked for, are rounded to 10 bits of mantissa, to the nearest. Sums stay fp32. A GPU may truncate instead, which at most doubles
the error of each input.
"""

import argparse
import json
from contextlib import ExitStack, contextmanager
from unittest import mock

import torch
import torch.nn.functional as F

from measure import latent_shape, model_config, model_of
from reference_model import model_family


def tf32(x: torch.Tensor) -> torch.Tensor:
    """Rounds fp32 to 10 bits of mantissa: to the nearest, ties to even."""
    bits = x.contiguous().view(torch.int32)
    return ((bits + 0x0FFF + ((bits >> 13) & 1)) & ~0x1FFF).view(torch.float32)


def attention(query, key, value, attn_mask=None, scale=None, **_):
    """Attention as two products with rounded inputs."""
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = tf32(query) @ tf32(key).transpose(-2, -1) * scale
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, float("-inf")) if attn_mask.dtype == torch.bool else scores + attn_mask
    return tf32(scores.softmax(-1)) @ tf32(value)


@contextmanager
def rounded(*functions: str):
    """Rounds the inputs and weights of these functions of torch.nn.functional."""
    with ExitStack() as stack:
        for name in functions:
            own = getattr(F, name)
            changed = attention if name == "scaled_dot_product_attention" else lambda x, w, *rest, own=own, **more: own(tf32(x), tf32(w), *rest, **more)
            stack.enter_context(mock.patch.object(F, name, changed))
        yield


CONVOLUTIONS = ("conv2d", "conv3d")
PRODUCTS = ("linear", "scaled_dot_product_attention")


def measure(model: str, size: int, seed: int) -> dict:
    torch.manual_seed(seed)
    vae = model_family(model, None).from_config(model_config(model)).eval()
    latent = torch.randn(latent_shape(model, (size, size), frames=2 * model_of(model).time_factor + 1 if model_of(model).video else 1))
    found = {"model": model, "size": size, "seed": seed}
    with torch.no_grad():
        full = vae.decode(latent).sample
        for name, functions in (("convolutions", CONVOLUTIONS), ("products", PRODUCTS), ("all", CONVOLUTIONS + PRODUCTS)):
            with rounded(*functions):
                error = vae.decode(latent).sample - full
            span = full.max() - full.min()
            found[name] = {"psnr_db": round(float(20 * torch.log10(span / error.square().mean().sqrt())), 1),
                           "largest_error": float(f"{error.abs().max() / full.abs().max():.2g}")}
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="sdxl", help="a built-in name of headroom-plan models")
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--seeds", type=int, default=1)
    chosen = parser.parse_args()
    for seed in range(chosen.seeds):
        print(json.dumps(measure(chosen.model, chosen.size, seed)), flush=True)
