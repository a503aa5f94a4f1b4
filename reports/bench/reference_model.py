"""diffusers' autoencoders, Open-Sora-Plan's own, and plain PyTorch modules of others, without their encoder and with weights from a folder or
a seed."""

import json
import sys
from pathlib import Path

import diffusers
import torch
from safetensors import safe_open

from measure import ROOT, model_config, model_of

sys.path.insert(0, str(ROOT / "tests" / "reference"))
from hunyuan_image3 import HunyuanImage3  # noqa: E402
from open_sora_plan import load_model_class  # noqa: E402
from random_weights import fill_module  # noqa: E402


PLAIN = {"hunyuan-image-3": HunyuanImage3}
"""Decoders of built-in models without code in diffusers: modules of tests/reference."""


def model_family(model: str, source: Path | None) -> type[torch.nn.Module]:
    if model_of(model).in_diffusers:
        return getattr(diffusers, model_of(model).class_name)
    if source is None:
        raise SystemExit(f"{model}: expected --source, a clone of Open-Sora-Plan")
    return load_model_class(source)


def build(model: str, source: Path | None = None) -> torch.nn.Module:
    """The autoencoder without its encoder, its weights allocated but not touched."""
    with torch.device("meta"):
        make = PLAIN.get(model) or model_family(model, source).from_config
        vae = make(model_config(model))
    vae.encoder, vae.quant_conv = torch.nn.Module(), None  # an empty module, because some classes count its layers
    return vae.to_empty(device="cpu").eval()


def load_weights(vae: torch.nn.Module, folder: Path) -> None:
    """Fills the parameters from the folder's safetensors, one file or sharded."""
    index = folder / "diffusion_pytorch_model.safetensors.index.json"
    files = set(json.loads(index.read_text())["weight_map"].values()) if index.exists() else {index.name[:-len(".index.json")]}
    missing = vae.state_dict()
    for name in files:
        with safe_open(folder / name, framework="pt") as stored:
            for key in stored.keys() & missing.keys():
                missing.pop(key).copy_(stored.get_tensor(key))
    if missing:
        raise SystemExit(f"{folder}: expected a tensor {next(iter(missing))}")


def give_weights(vae: torch.nn.Module, model: str, seed: int | None) -> None:
    if seed is not None:
        fill_module(vae, seed)
    else:
        load_weights(vae, Path(model))
