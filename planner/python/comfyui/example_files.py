"""Writes the files that the example workflows name, for a first decode without downloads. Run it with ComfyUI's Python, in ComfyUI's folder:

    python custom_nodes/headroom/example_files.py [FOLDER]

FOLDER/input gets a latent, and FOLDER/models/vae a VAE of TAESD's layers. This VAE was not trained: its weights enlarge the first three channels of a latent
eightfold, and reduce a picture likewise. So the latent is a small drawing. Load the VAE of your model for your own latents.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

WIDTH, COLOURS = 64, 3
LATENT_CHANNELS = 4
ROWS, COLUMNS = 96, 128  # of the latent; its picture has eight times as many
NAME = "headroom_example"


def _convolution(outputs: int, inputs: int, row: tuple[float, float, float]) -> Any:
    """A kernel of 3×3 taps that passes the colours on. `row` weighs three neighbours, in both directions. Other channels stay empty."""
    import torch

    taps = torch.tensor(row)
    kernel = torch.zeros(outputs, inputs, 3, 3)
    for colour in range(COLOURS):
        kernel[colour, colour] = taps[:, None] * taps
    return kernel


def _part(layout: str, inputs: int, outputs: int, resampling: tuple[float, float, float]) -> dict[str, Any]:
    """Weights of an encoder or decoder by name. A letter for each layer: c, a convolution; r, a resampling one; b, a block; a dot, no weights."""
    import torch

    same, state = (0.0, 1.0, 0.0), {}
    for number, layer in enumerate(layout):
        if layer in "cr":
            channels = outputs if number + 1 == len(layout) else WIDTH, inputs if "c" not in layout[:number] else WIDTH
            state[f"{number}.weight"] = _convolution(*channels, same if layer == "c" else resampling)
            if layer == "c":
                state[f"{number}.bias"] = torch.zeros(channels[0])
        elif layer == "b":
            for part in (0, 2, 4):  # a block adds nothing to its input
                state[f"{number}.conv.{part}.weight"] = torch.zeros(WIDTH, WIDTH, 3, 3)
                state[f"{number}.conv.{part}.bias"] = torch.zeros(WIDTH)
    return state


def vae() -> dict[str, Any]:
    import torch

    decoder = _part(".c.bbb.rbbb.rbbb.rbc", LATENT_CHANNELS, COLOURS, (0.25, 0.5, 0.25))
    encoder = _part("cbrbbbrbbbrbbbc", COLOURS, LATENT_CHANNELS, (0.25, 0.5, 0.25))
    state = {f"taesd_{part}.{name}": tensor.half() for part, of in (("decoder", decoder), ("encoder", encoder)) for name, tensor in of.items()}
    return {**state, "vae_scale": torch.tensor(1.0), "vae_shift": torch.tensor(0.0)}


def latent() -> Any:
    """A drawing: a sun over hills. The decoder begins with 3 tanh(z / 3), so each value is what this function maps to a colour."""
    import torch

    y, x = torch.meshgrid(torch.linspace(0, 1, ROWS), torch.linspace(0, COLUMNS / ROWS, COLUMNS), indexing="ij")
    picture = torch.stack([0.95 - 0.45 * y, 0.55 + 0.2 * y, 0.35 + 0.5 * (1 - y)])  # the sky
    picture[:, (x - 0.9) ** 2 + (y - 0.35) ** 2 < 0.02] = torch.tensor([[1.0], [0.85], [0.3]])
    for height, phase, colour in ((0.55, 0.3, (0.35, 0.45, 0.5)), (0.68, 1.7, (0.2, 0.4, 0.3)), (0.82, 3.1, (0.1, 0.25, 0.15))):
        hill = y > height + 0.06 * torch.sin(7 * x + phase) + 0.02 * torch.sin(19 * x)
        picture[:, hill] = torch.tensor(colour)[:, None]
    values = torch.zeros(1, LATENT_CHANNELS, ROWS, COLUMNS)
    values[0, :COLOURS] = 3 * torch.atanh(picture.clamp(0, 1) / 3)
    return values


def write(folder: Path) -> list[Path]:
    """Writes both files, and returns their paths."""
    import torch
    from safetensors.torch import save_file

    files = [folder / f"input/{NAME}.latent", folder / f"models/vae/{NAME}.safetensors"]
    for file in files:
        file.parent.mkdir(parents=True, exist_ok=True)
    save_file({"latent_tensor": latent(), "latent_format_version_0": torch.tensor([])}, files[0])  # as SaveLatent writes it
    save_file(vae(), files[1])
    return files


if __name__ == "__main__":
    for written in write(Path(sys.argv[1] if len(sys.argv) > 1 else ".")):
        print(written)
