"""Golden cases of decoders that diffusers does not have: writes their configs and the decodes of a PyTorch module."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import torch

from make_golden import LATENT_SEED, THREADS, WEIGHTS_SEED
from random_weights import fill_module, random_latent


def make(folder, decoder, config, shape):
    """Writes config.json, and expected.npy: the decode of a random latent. A clip of one frame is written as a picture."""
    model = fill_module(decoder(config), WEIGHTS_SEED).eval()
    with torch.inference_mode():
        made = model.decode(torch.from_numpy(random_latent(shape, LATENT_SEED))).numpy()
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    np.save(folder / "expected.npy", np.ascontiguousarray(made[:, :, 0] if made.ndim == 5 and made.shape[2] == 1 else made))


def make_all(starts, *groups):
    """Replaces all cases in the folder of the command line whose names have one of these starts. A group is a decoder, a function that
    makes a config of changes, and the cases by name: (latent's shape, changes to the config)."""
    torch.set_num_threads(THREADS)
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent / "data" / "golden")
    for folder in [folder for start in starts for folder in root.glob(f"{start}*")]:
        shutil.rmtree(folder)
    for decoder, config_of, cases in groups:
        for name, (shape, changes) in cases.items():
            make(root / name, decoder, config_of(changes), shape)
    files = [file for start in starts for file in root.glob(f"{start}*/*")]
    print(f"{sum(len(cases) for *_, cases in groups)} cases, {sum(file.stat().st_size for file in files) / 1024:.0f} KiB in {root}")
