#!/usr/bin/env python3
"""Writes latents as torch.save() does, for tests of decoder/files/torch_file.h. Needs torch.

    python3 tests/reference/make_torch_files.py tests/data/torch
"""

import argparse
import pathlib

import torch


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    latent = torch.arange(24, dtype=torch.float32).reshape(1, 2, 3, 4) / 8 - 1
    for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        torch.save(latent.to(dtype), folder / f"{str(dtype).removeprefix('torch.')}.pt")
    # A non-contiguous view at an offset into a larger storage.
    channels_last = torch.zeros(2, 2, 3, 4).to(memory_format=torch.channels_last)
    channels_last[1] = latent[0]
    torch.save(channels_last[1:], folder / "strided.pt")
    torch.save(torch.nn.Parameter(latent), folder / "parameter.pt")
    torch.save({"latents": latent, "noise": -latent, "step": 7}, folder / "dict.pt")
    torch.save([latent], folder / "list.pt")
    torch.save(latent.to(torch.int32), folder / "integers.pt")
    torch.save("no tensor", folder / "text.pt")
    torch.save(latent, folder / "older_format.pt", _use_new_zipfile_serialization=False)


if __name__ == "__main__":
    main()
