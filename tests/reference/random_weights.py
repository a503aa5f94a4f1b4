#!/usr/bin/env python3
"""Random weights and latents from a seed. The values are bit-identical to decoder/weights/random_weights.cpp.

    python tests/reference/random_weights.py    # prints the constants of tests/decoder/weights/random_weights_test.cpp

The generator is stated in docs/formats.md. Value i of tensor `name` depends on the seed, the name and i alone, so
the order of tensors does not matter, nor which of them are filled.
"""

import math

import numpy as np

GOLDEN_GAMMA = 0x9E3779B97F4A7C15
MASK = 0xFFFFFFFFFFFFFFFF
GAIN = 1.0
NORM_SPREAD = np.float32(0.25)
BIAS_SPREAD = np.float32(0.1)
CHUNK = 1 << 15  # values per chunk, so that intermediate arrays fit in the cache


def fnv1a64(text):
    """The 64-bit FNV-1a hash of the text's UTF-8 bytes."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def splitmix64_mix(z):
    """The finalizer of splitmix64 for a Python integer."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def _mix_in_place(z):
    """splitmix64_mix for an array of uint64, in place."""
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)


def _uniform(name, count, seed, offset, scale):
    """offset + scale * u as fp32, for `count` values u in [-1, 1)."""
    key = splitmix64_mix((seed & MASK) ^ fnv1a64(name))
    out = np.empty(count, np.float32)
    steps = np.arange(1, min(count, CHUNK) + 1, dtype=np.uint64) * np.uint64(GOLDEN_GAMMA)
    for begin in range(0, count, CHUNK):
        values = out[begin : begin + CHUNK]
        z = steps[: values.size] + np.uint64((key + begin * GOLDEN_GAMMA) & MASK)
        _mix_in_place(z)
        z >>= np.uint64(40)
        values[:] = z.astype(np.uint32)
        values *= np.float32(2.0**-23)
        values -= np.float32(1)
        values *= scale
        values += offset
    return out


def random_parameter(name, shape, seed):
    """The parameter that the reference calls `name`, fp32."""
    shape = tuple(shape)
    offset, scale = np.float32(0), BIAS_SPREAD
    if name.endswith((".running_var", ".gamma")) or name == "latents_std":
        offset, scale = np.float32(1), NORM_SPREAD
    if name.endswith(".weight"):
        if len(shape) == 1:
            offset, scale = np.float32(1), NORM_SPREAD
        else:
            scale = np.float32(GAIN * math.sqrt(3.0 / math.prod(shape[1:])))
    return _uniform(name, math.prod(shape), seed, offset, scale).reshape(shape)


def random_latent(shape, seed):
    """A latent of unit variance, fp32."""
    scale = np.float32(math.sqrt(3.0))
    return _uniform("latent", math.prod(shape), seed, np.float32(0), scale).reshape(tuple(shape))


def fill_module(module, seed, prefixes=("decoder.", "post_quant_conv.")):
    """Overwrites the parameters of an autoencoder whose names begin with one of `prefixes`.

    They are given in the module's own dtype: what is rounded to bf16 or fp16 is rounded once. Returns the module.
    """
    import torch  # imported here, so that the generator itself needs only numpy

    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if name.startswith(tuple(prefixes)):
                tensor.copy_(torch.from_numpy(random_parameter(name, tensor.shape, seed)))
    return module


def _print_golden():
    cases = [
        ("decoder.conv_in.weight", (8, 4, 3, 3), 1),
        ("decoder.mid_block.attentions.0.to_q.weight", (16, 16), 1),
        ("decoder.conv_norm_out.weight", (70000,), 42),
        ("post_quant_conv.bias", (4,), 2**64 - 1),
    ]
    for name, shape, seed in cases:
        values = random_parameter(name, shape, seed).ravel()
        picked = [0, 1, values.size - 1]
        bits = ", ".join(f"0x{int(values[i].view(np.uint32)):08x}" for i in picked)
        print(f'{{"{name}", {{{", ".join(map(str, shape))}}}, {seed}u, {{{bits}}}}},')
    latent = random_latent((1, 4, 8, 8), 7).ravel()
    print("latent", ", ".join(f"0x{int(latent[i].view(np.uint32)):08x}" for i in (0, 1, 255)))


if __name__ == "__main__":
    _print_golden()
