"""Exceptions that Headroom raises. Messages are one line and name what was expected."""

from __future__ import annotations

import re
from typing import Any

COMMAND = re.compile(r"headroom-[a-z]+(?: --[a-z-]+(?: (?!-)[^\s,;:()]+)?)+")
"""A command of a shell with its options. Messages keep it."""

OPTION = re.compile(r"(?<!\S)(\(?)--(batch|device|direction|dtype|frames|host-limit|limit|profile|scratch|thrift)(?![a-z-])")
"""A program's option that is an argument in Python. Options of other programs, as in ``hf download --local-dir``, stay."""


def in_python(text: str) -> str:
    """Rewrites program options in a message as Python arguments: ``scratch=DIR`` for ``--scratch DIR``.

    The extension module calls this for its errors."""
    commands: list[str] = []

    def without_command(found: re.Match) -> str:
        commands.append(found[0])
        return f"\0{len(commands) - 1}\0"

    text = COMMAND.sub(without_command, text)
    text = re.sub("(;|, or) give --other-environment.*", "", text)  # Python has no such argument
    text = re.sub(r"; --pass \d+ shows them all", "", text)
    text = re.sub(r"^limit (\S+) is \1 bytes\. Did you mean (\S+)\?", r"limit='\1' is \1 bytes. Did you mean '\2'?", text)
    text = re.sub(r"\(--threads (\d+) takes", r"(torch.set_num_threads(\1) takes", text)
    text = text.replace("--weights-residency auto", "release=False").replace("--scratch-limit", "a scratch folder with more room")
    text = re.sub(r" --weights \S+?(?=[),:;]|\s|$)", "", text)
    text = re.sub(r"--model (?=\S)", "vae=", text)
    text = re.sub(r"--size: expected a (height|width)", r"\1: expected a \1", text)
    text = text.replace("--size: ", "height, width: ")
    text = re.sub(OPTION.pattern + r" (?=[A-Z]|auto|none|model|bf16|fp16|fp32|cpu|cuda|\d)", r"\1--\2=", text)
    text = OPTION.sub(lambda found: found[1] + found[2].replace("-", "_"), text)
    return re.sub("\0(\\d+)\0", lambda found: commands[int(found[1])], text)


class HeadroomError(Exception):
    """Base class of all Headroom exceptions."""

    latents: Any = None
    """The latents that an enabled VAE could not decode. ``vae.decode(error.latents)`` decodes them later, for example after
    ``enable`` with another limit. None if the error came before the denoising."""

    finite: tuple[int, ...] = ()
    """If some items of a batch are not finite: the items that are. ``vae.decode(latents[list(error.finite)])`` decodes them."""


class InputError(HeadroomError, ValueError):
    """An argument or a file is not as expected."""


class Unsupported(InputError):
    """Headroom does not support the decoder's class or config."""

    provable = False
    """True if a VAE differs from what its class makes in a way that a proof can show to be harmless."""

    reason = ""
    """If Headroom's own code cannot run on a device: why, without the advice."""


class DoesNotFit(HeadroomError, MemoryError):
    """No plan fits the limit. Nothing was decoded, and nothing was allocated."""

    def __init__(self, message: str, smallest_limit_bytes: int = 0, remedies: tuple[dict, ...] = ()):
        super().__init__(message)
        self.smallest_limit_bytes = smallest_limit_bytes
        """The smallest limit that works."""
        self.remedies = remedies
        """Other remedies: dicts with ``change``, ``fits`` and their cost."""

    def __str__(self) -> str:
        return str(self.args[0])


class OutOfGpuMemory(DoesNotFit):
    """A plan fits its limit, but others use too much of the GPU's memory. Nothing was decoded. Also a ``torch.OutOfMemoryError``."""


def join_torch() -> None:
    """Makes OutOfGpuMemory a torch.OutOfMemoryError too. Called when torch is there, because Headroom plans without it."""
    import torch

    if not issubclass(OutOfGpuMemory, torch.OutOfMemoryError):
        OutOfGpuMemory.__bases__ = (DoesNotFit, torch.OutOfMemoryError)


class LimitExceeded(HeadroomError, MemoryError):
    """The decode was stopped at its limit."""


class DeviceError(HeadroomError, RuntimeError):
    """The machine or a file failed."""


class VerificationError(HeadroomError):
    """With ``verify=True``, the picture differs from that of the original decode."""
