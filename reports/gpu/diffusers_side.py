"""Reference decodes by diffusers on the card, in this process."""

import contextlib
import gc
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterator

import numpy as np
import torch

import measure
from reference_model import build, give_weights

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
SEED = 0


@dataclass
class Timing:
    """Seconds of decodes that leave the picture on the card, and the peaks of torch's allocator, weights included."""

    first: float
    again: list[float]
    allocated_bytes: int
    reserved_bytes: int
    picture: torch.Tensor

    @property
    def median(self) -> float:
        return statistics.median(self.again or [self.first])

    def __str__(self) -> str:
        spread = f" ({1e3 * min(self.again):.1f}–{1e3 * max(self.again):.1f})" if self.again else ""
        return f"{1e3 * self.median:.1f} ms{spread}, first {self.first:.2f} s"

    @property
    def peaks(self) -> str:
        return f"{measure.mib(self.allocated_bytes)} allocated, {measure.mib(self.reserved_bytes)} reserved"


class Diffusers:
    """Decodes by diffusers on the card. A rehearsal uses the CPU, since PyTorch's kernels do nothing on the emulated card."""

    def __init__(self, rehearse: bool):
        self.on_card = not rehearse
        self.device = torch.device("cuda" if self.on_card else "cpu")
        torch.set_grad_enabled(False)
        torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False  # no TF32 in fp32
        torch.nn.functional.conv2d(torch.zeros(1, 32, 34, 34, device=self.device), torch.zeros(32, 32, 3, 3, device=self.device))
        self.wait()

    @contextlib.contextmanager
    def torch_defaults(self) -> Iterator[None]:
        """TF32 as PyTorch allows it by default: in convolutions, not in matrix products."""
        torch.backends.cudnn.allow_tf32 = True
        try:
            yield
        finally:
            torch.backends.cudnn.allow_tf32 = False

    def wait(self) -> None:
        if self.on_card:
            torch.cuda.synchronize()

    def vae(self, model: str, dtype: str = "fp32") -> Any:
        """A built-in model's decoder with seeded weights."""
        vae = build(model)
        give_weights(vae, model, SEED)
        if hasattr(vae, "use_framewise_decoding"):
            vae.use_framewise_decoding = False  # would cut clips along time and blend
        return vae.to(self.device, DTYPES[dtype])

    def latent(self, model: str, size: tuple[int, int], file: Path, frames: int = 1) -> torch.Tensor:
        """A seeded latent, also written to `file` for the programs."""
        measure.write_random_latent(model, size, SEED, file, frames=frames)
        return torch.from_numpy(np.load(file)).to(self.device)

    def timed(self, decode: Callable[[], torch.Tensor], repeats: int) -> Timing:
        if self.on_card:
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        seconds, picture = [], None
        for _ in range(1 + repeats):
            picture = None  # the peak never includes two pictures
            self.wait()
            begun = time.perf_counter()
            picture = decode()
            self.wait()
            seconds.append(time.perf_counter() - begun)
        peaks = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()) if self.on_card else (0, 0)
        return Timing(seconds[0], seconds[1:], *peaks, picture)

    def decode(self, vae: Any, latent: torch.Tensor, repeats: int) -> Timing:
        given = latent.to(next(vae.parameters()).dtype)
        return self.timed(lambda: vae.decode(given, return_dict=False)[0], repeats)

    def tidy(self) -> None:
        gc.collect()
        if self.on_card:
            torch.cuda.empty_cache()


def psnr_db(found: torch.Tensor, reference: torch.Tensor) -> float:
    """PSNR with the reference's range as peak. Infinite for equal pictures."""
    found, reference = found.reshape(reference.shape), reference.float()
    deviation = (found.to(reference.device, torch.float32) - reference).square().mean().sqrt().item()
    span = (reference.max() - reference.min()).item()
    return float("inf") if deviation == 0 else 20 * float(np.log10(span / deviation))


def relative_error(found: torch.Tensor, reference: torch.Tensor) -> float:
    """The largest difference relative to the reference's largest magnitude."""
    found, reference = found.reshape(reference.shape), reference.float()
    return ((found.to(reference.device, torch.float32) - reference).abs().max() / reference.abs().max()).item()
