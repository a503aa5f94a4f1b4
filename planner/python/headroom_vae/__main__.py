"""python -m headroom_vae: tells what works on this machine, and has tools that run a model under PyTorch."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any, Sequence

from . import _core, about
from .checkpoints import describe
from .errors import DeviceError, HeadroomError, InputError, Unsupported
from .record import record


def main(words: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(words)
    if args.command == "record":
        return _record(args)
    if args.command is None:
        print("\n".join(about.lines()))
        return 0
    try:
        print(about.check(args.device))
    except (HeadroomError, ImportError, RuntimeError, AssertionError) as error:  # PyTorch's own, for a device that is not there
        print(f"headroom_vae check: {str(error).splitlines()[0]}", file=sys.stderr)
        return 5 if isinstance(error, DeviceError) else 2
    return 0


def _record(args: argparse.Namespace) -> int:
    try:
        vae = load(args.model, args.dtype, args.device)
        latents = [latent_of(vae, shape) for shape in latent_shapes(vae, args)]
        for number, latent in enumerate(latents, 1):
            print(f"latent {number} of {len(latents)}: {'x'.join(map(str, latent.shape))}", file=sys.stderr)
        document = record(vae, latents, args.output, model=args.model)
    except HeadroomError as error:
        print(f"headroom_vae record: {error}", file=sys.stderr)
        return 2
    for decode in document["decodes"]:
        print(_summary(decode))
    return 0


def _parser() -> argparse.ArgumentParser:
    told = "Tell what works on this machine: versions, devices, and the code that decodes on each of them. Commands run a model under PyTorch."
    parser = argparse.ArgumentParser(prog="python -m headroom_vae", description=told)
    parser.add_argument("--version", action="version", version=f"headroom_vae {_core.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    told = "decode with a tiny VAE within a limit, and compare with the untiled picture"
    one = commands.add_parser("check", help=told, description=told.capitalize() + ". Takes seconds, and needs no files.")
    one.add_argument("--device", default="cpu", help="cpu, cuda, cuda:N, xpu or mps (default: cpu)")
    told = "record what the memory of a VAE's own decode goes to, module by module"
    one = commands.add_parser("record", help=told, description=told.capitalize() + ". The VAE may be of any class of diffusers.")
    one.add_argument("model", metavar="MODEL", help="a folder in diffusers' layout, or a built-in name, which gets random weights")
    one.add_argument("--sizes", type=_sizes, metavar="WxH,…", help="sizes of the picture in pixels")
    one.add_argument("--frames", type=int, default=1, help="frames of a clip (default: 1)")
    one.add_argument("--batch", type=int, default=1, help="pictures or clips in the latent (default: 1)")
    one.add_argument("--latent-shape", type=_shape, metavar="N,C,H,W", help="the latent's shape in place of --sizes, for classes that Headroom does not decode")
    one.add_argument("--dtype", choices=("fp32", "bf16", "fp16"), default="fp32", help="dtype of the weights and the latent (default: fp32)")
    one.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (default: cpu)")
    one.add_argument("-o", "--output", required=True, metavar="FILE", help="the recording, JSON, for headroom-gui and headroom-report")
    return parser


def _sizes(text: str) -> list[tuple[int, int]]:
    try:
        return [(int(width), int(height)) for width, height in (size.split("x") for size in text.split(","))]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected WxH,…, such as 512x512,1024x1024, found {text!r}") from None


def _shape(text: str) -> tuple[int, ...]:
    try:
        shape = tuple(map(int, text.split(",")))
    except ValueError:
        shape = ()
    if len(shape) not in (4, 5) or min(shape) < 1:
        raise argparse.ArgumentTypeError(f"expected N,C,H,W or N,C,T,H,W, found {text!r}")
    return shape


def load(model: str, dtype: str, device: str) -> Any:
    """Loads the VAE of a folder, or makes a built-in one with random weights. Raises InputError."""
    import diffusers
    import torch

    kind = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[dtype]
    built_in = _core.built_in_config(model)
    folder = Path(model) / "vae" if (Path(model) / "vae/config.json").is_file() else Path(model)
    try:
        config = json.loads(built_in or (folder / "config.json").read_text())
        name = config["_class_name"]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{model}: expected a built-in name or a folder with a VAE's config.json ({error})") from None
    if not hasattr(diffusers, name):
        raise InputError(f"{model}: class {name} is not in diffusers {diffusers.__version__}. Record it in Python: headroom_vae.record(vae, latent, path)")
    try:
        torch.manual_seed(0)
        vae = getattr(diffusers, name).from_config(config) if built_in else getattr(diffusers, name).from_pretrained(folder)
        return vae.to(device, kind).eval()
    except (OSError, ValueError, TypeError, RuntimeError, AssertionError) as error:
        raise InputError(f"{model}: diffusers cannot load it: {error}") from None


def latent_shapes(vae: Any, args: argparse.Namespace) -> list[tuple[int, ...]]:
    """The latent shape of each size. Raises InputError if a size has no latent."""
    if args.latent_shape:
        return [args.latent_shape]
    if not args.sizes:
        raise InputError("--sizes: expected the picture's sizes, such as --sizes 512x512,1024x1024")
    return [latent_shape(vae, width, height, args.frames, args.batch) for width, height in args.sizes]


def latent_shape(vae: Any, width: int, height: int, frames: int = 1, batch: int = 1) -> tuple[int, ...]:
    """The latent shape that the VAE's own decode() takes. Raises InputError if the size has no latent."""
    from torch.nn import Conv3d

    try:
        shape = tuple(describe(vae).latent_shape(width, height, frames, batch))
    except Unsupported as error:
        raise InputError(f"--sizes: {error}. Give --latent-shape N,C,H,W") from None
    # Video decoders need a time axis even for a single picture.
    of_clips = "temperal_downsample" in vae.config or any(isinstance(module, Conv3d) for module in vae.modules())
    return (*shape[:2], 1, *shape[2:]) if of_clips and len(shape) == 4 else shape


def latent_of(vae: Any, shape: Sequence[int]) -> Any:
    """A seeded latent on the VAE's device."""
    import torch

    first = next(vae.parameters())
    return torch.randn(tuple(shape), generator=torch.Generator().manual_seed(0)).to(first.device, first.dtype)


def _summary(decode: dict[str, Any]) -> str:
    size, text = _core.format_bytes, f"{decode['width_pixels']}x{decode['height_pixels']}"
    text += f": peak {size(decode['peak_bytes'])} in {decode['peak_layer']}"
    if "smallest_limit_bytes" in decode:
        text += f", {size(decode['counted_peak_bytes'])} by Headroom's count. Headroom's smallest limit: {size(decode['smallest_limit_bytes'])}"
    return f"{text}. Time: {_core.format_seconds(decode['seconds'])}"


if __name__ == "__main__":
    sys.exit(main())
