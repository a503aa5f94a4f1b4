"""Decodes that the parts `measure`, `families` and `kernels` run."""

from dataclasses import dataclass
from pathlib import Path

import measure
from place import ROOT

GOLDEN = ROOT / "tests" / "data" / "golden"


@dataclass(frozen=True)
class Arithmetic:
    """A dtype, and the work in fp32 that rounds its inputs to TF32: the value of the programs' --tf32, empty for none."""

    dtype: str
    tf32: str = ""
    name: str = ""

    def __str__(self) -> str:
        return self.name or self.dtype


BF16 = Arithmetic("bf16")
EXACT = Arithmetic("fp32", "", "fp32, TF32 off")
DEFAULTS = Arithmetic("fp32", "convolutions", "fp32, torch's defaults")  # of torch.backends: TF32 in convolutions, not in matrix products


@dataclass(frozen=True)
class Case:
    model: str
    size: tuple[int, int]
    frames: int = 1
    number_formats: tuple[Arithmetic, ...] = (BF16,)
    limits: tuple[int | None, ...] = (None,)  # bytes; None: ample_limit()
    published: str = ""  # times of others for the same decode in bf16

    def __str__(self) -> str:
        return f"{Path(self.model).name} {self.size[0]}×{self.size[1]}" + (f"×{self.frames}" if self.frames > 1 else "")


MEASURED = (
    Case("sdxl", (512, 512), number_formats=(BF16, EXACT, DEFAULTS)),
    Case("sdxl", (1024, 1024), number_formats=(BF16, EXACT, DEFAULTS), limits=(None, 600 * measure.MIB)),
    Case("sdxl", (2048, 2048)),
    Case("wan2.1", (832, 480), 17),
)
FAMILIES = (
    Case("wan2.1", (832, 480), 81, published="1.56 s on an H200, 1.17 s on an RTX PRO 6000"),
    Case("flux2", (1024, 1024), published="29.3 ms on an H200"),
    Case("flux2", (2048, 2048), published="168 ms on an H200"),
    Case("qwen-image", (1024, 1024), published="46 ms"),
)
MEASURED_SMALL = (Case(str(GOLDEN / "plain"), (24, 20), number_formats=(BF16, EXACT, DEFAULTS)), Case(str(GOLDEN / "wan_default"), (24, 16), 5))
FAMILIES_SMALL = (Case(str(GOLDEN / "wan_default"), (24, 16), 9, published="1 s"), Case(str(GOLDEN / "qwen_picture"), (48, 48)))


def measured(rehearse: bool) -> tuple[Case, ...]:
    return MEASURED_SMALL if rehearse else MEASURED


def families(rehearse: bool) -> tuple[Case, ...]:
    return FAMILIES_SMALL if rehearse else FAMILIES
