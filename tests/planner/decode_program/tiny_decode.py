"""A decoder of a few kilobytes and a latent for it, written without libraries: for tests of the programs as people run them."""
import json
import random
import struct
from pathlib import Path

CONFIG = {
    "_class_name": "AutoencoderKL", "in_channels": 3, "out_channels": 3, "latent_channels": 4,
    "block_out_channels": [16, 32], "layers_per_block": 1, "norm_num_groups": 8, "scaling_factor": 0.125,
    "down_block_types": ["DownEncoderBlock2D"] * 2, "up_block_types": ["UpDecoderBlock2D"] * 2,
}


def npy(values, shape):
    """The bytes of a .npy file."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}f", *values)


def normal(shape, scale=8.0):
    """A latent with the standard deviation of the decoder's own input."""
    count = 1
    for extent in shape:
        count *= extent
    numbers = random.Random(0)
    return npy([scale * numbers.gauss(0, 1) for _ in range(count)], shape)


def write_in(folder, shape=(1, 4, 8, 8)):
    """vae/config.json and latent.npy; returns the words of headroom-decode that decode it."""
    folder = Path(folder)
    (folder / "vae").mkdir()
    (folder / "vae/config.json").write_text(json.dumps(CONFIG))
    (folder / "latent.npy").write_bytes(normal(shape))
    return ["--limit", "64MiB", "--model", folder / "vae", "--random-weights", "0", "--threads", "2",
            "--latent", folder / "latent.npy"]
