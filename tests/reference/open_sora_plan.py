"""Loads Open-Sora-Plan's CausalVAEModel from a clone of its repository, which this repository does not contain.

    CausalVAEModel = load_model_class(Path("Open-Sora-Plan"))    # a checkout, or a git folder without one
    model = CausalVAEModel.from_config(config)

The classes come from tag v1.2.0, which also supports the configs of v1.0 and v1.1. Imports for training and evaluation
(videos, Lightning, scores) are replaced by empty stand-ins. einops is used if it is installed.
"""

import contextlib
import importlib
import importlib.util
import io
import math
import re
import subprocess
import sys
import tarfile
import tempfile
import types
from pathlib import Path

TAG = "v1.2.0"
PACKAGE = "opensora.models.causalvideovae"
FOLDER = "opensora/models/causalvideovae/model"

# Modules that the files import, with the imported names. A decode calls none of them.
ABSENT = {
    "decord": ["VideoReader", "cpu"],
    "pytorch_lightning": [],
    "pytorchvideo": [],
    "pytorchvideo.transforms": ["ShortSideScale"],
    "torchvision": [],
    "torchvision.io": ["read_video"],
    "torchvision.transforms": ["Lambda", "Compose"],
    "torchvision.transforms._transforms_video": ["CenterCropVideo"],
    f"{PACKAGE}.utils.utils": ["custom_to_video"],
    f"{PACKAGE}.eval.cal_psnr": ["calculate_psnr"],
}


def rearrange(tensor, pattern, **sizes):
    """einops.rearrange for names and groups in parentheses. Each group may have one unknown size."""
    def groups(side):
        return [(inner or name).split() for inner, name in re.findall(r"\(([^)]*)\)|(\w+)", side)]

    left, right = map(groups, pattern.split("->"))
    for group, extent in zip(left, tensor.shape, strict=True):
        unknown = [name for name in group if name not in sizes]
        if unknown:
            (name,) = unknown
            sizes[name] = extent // math.prod(sizes[each] for each in group if each != name)
    names = [name for group in left for name in group]
    order = [names.index(name) for group in right for name in group]
    apart = tensor.reshape([sizes[name] for name in names]).permute(order)
    return apart.reshape([math.prod(sizes[name] for name in group) for group in right])


def _module(name, names=(), **contents):
    module = types.ModuleType(name)
    for each in names:
        setattr(module, each, None)
    vars(module).update(contents)
    return module


def _export(source, folder):
    """Writes the tag's files of the model below `folder`."""
    command = ["git", "-C", str(source), "archive", TAG, FOLDER]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{source}: expected a clone of Open-Sora-Plan with tag {TAG}; git: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def _packages(folder):
    """Empty packages for the model's parent folders. They skip the imports of the real __init__ files."""
    packages = {}
    for name in ["opensora", "opensora.models", PACKAGE, f"{PACKAGE}.utils", f"{PACKAGE}.eval", f"{PACKAGE}.model",
                 f"{PACKAGE}.model.causal_vae"]:
        packages[name] = _module(name, __path__=[str(folder / name.replace(".", "/"))])
    return packages


@contextlib.contextmanager
def _stand_ins():
    """Stand-ins for absent modules during the import. Other libraries must not find them afterwards."""
    modules = {name: _module(name, names) for name, names in ABSENT.items()}
    if importlib.util.find_spec("einops") is None:
        modules["einops"] = _module("einops", ["pack", "unpack"], rearrange=rearrange)
    before = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(before)


def load_model_class(source):
    """CausalVAEModel from the clone at `source`. Loaded once per process: later calls return the first class."""
    name = f"{PACKAGE}.model.causal_vae.modeling_causalvae"
    if name not in sys.modules:
        import diffusers.models.modeling_utils  # noqa: F401  # imported first, so that it does not see the stand-ins
        import torch.utils.checkpoint  # noqa: F401

        with tempfile.TemporaryDirectory() as folder:
            _export(source, folder)
            sys.modules.update(_packages(Path(folder)))
            with _stand_ins():
                importlib.import_module(name)
    return sys.modules[name].CausalVAEModel
