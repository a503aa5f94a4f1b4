#!/usr/bin/env python3
"""A built-in model with seeded weights, as a folder in diffusers' layout that both sides read.

    python reports/bench/write_model.py --model sdxl --random-weights 0 -o sdxl/

Writes config.json and diffusion_pytorch_model.safetensors, fp32, without the encoder. The config says `force_upcast`: false, since random
weights stay in fp16's range and a decode in fp16 is wanted, not one that turns into fp32.
"""

import argparse
import json
from pathlib import Path

from safetensors.torch import save_file

from measure import model_class, model_config
from reference_decode import build, give_weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a built-in name")
    parser.add_argument("--random-weights", type=int, metavar="SEED", default=0, help="default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the folder")
    args = parser.parse_args()
    vae = build(args.model)
    give_weights(vae, args.model, args.random_weights)
    args.output.mkdir(parents=True, exist_ok=True)
    save_file(vae.state_dict(), args.output / "diffusion_pytorch_model.safetensors")
    config = {"_class_name": model_class(args.model), **model_config(args.model), "force_upcast": False}
    (args.output / "config.json").write_text(json.dumps(config, indent=1) + "\n")  # last: a folder with it is whole


if __name__ == "__main__":
    main()
