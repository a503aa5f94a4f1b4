"""What gpu_decode.py measures: models, sizes and limits, by name."""

from dataclasses import dataclass, replace

AMPLE = "ample"
QUEUE = "queue"
TENANTS = "tenants"


@dataclass(frozen=True)
class Case:
    """One size of one model. A limit is `ample`, bytes, or bytes of the card + bytes of the host."""

    model: str
    size: tuple[int, int]
    limits: tuple[str, ...]
    dtypes: tuple[str, ...] = ("bf16", "fp16")
    modes: tuple[str, ...] = ("untiled", "tiled")  # of diffusers
    tile: int = 128  # latent positions a side: what diffusers' own tiling of the model takes
    reference: str = "diffusers"  # or "plan": the first limit's result
    batch: int = 1
    frames: int = 1
    rounds: int = 3
    repeats: int = 3


EVERY_MODE = ("untiled", "channels-last", "benchmark", "compile", "tiled")

CASES = {
    "sdxl-1024": Case("sdxl", (1024, 1024), (AMPLE,), ("bf16", "fp16", "fp32"), ("untiled",), tile=64, rounds=1),
    "sdxl-512": Case("sdxl", (512, 512), (AMPLE,), ("bf16",), ("untiled",), tile=64, rounds=1),
    "contenders-1024": Case("sdxl", (1024, 1024), (AMPLE,), modes=EVERY_MODE, tile=64, rounds=1, repeats=5),
    "contenders-2048": Case("sdxl", (2048, 2048), (AMPLE,), modes=EVERY_MODE, rounds=1, repeats=5),
    "compiled-1024": Case("sdxl", (1024, 1024), (AMPLE,), ("bf16",), ("untiled", "compile", "compile-tuned"), tile=64, rounds=1),
    "sdxl-4096": Case("sdxl", (4096, 4096), (AMPLE, "8GiB"), rounds=1, repeats=1),
    "sdxl-8192": Case("sdxl", (8192, 8192), ("24GiB",), ("bf16",), ("tiled",), reference="plan", rounds=1, repeats=1),
    "sdxl-8192-host": Case("sdxl", (8192, 8192), ("24GiB", "8GiB+64GiB"), ("bf16",), (), reference="plan", rounds=1, repeats=0),
    "pixart-8192": Case("sd15", (8192, 8192), (AMPLE, "24GiB"), ("fp16",), ("tiled",), tile=64, reference="plan", rounds=1, repeats=0),
    "sana-2048-batch2": Case("sana-dc-ae-f32c32", (2048, 2048), (AMPLE, "1GiB"), tile=16, batch=2),
    "open-sora-plan-512x65": Case("open-sora-plan", (512, 512), ("16GiB", "8GiB", "1GiB+32GiB"), ("fp16",), (), reference="plan",
                                  frames=65, rounds=2, repeats=1),
}
QUEUE_SIZES = "1024x1024,2048x2048,1536x1024,1024x1536,2048x1024,1280x1920"
QUEUE_LIMIT = "4GiB"
QUEUE_REQUESTS = 12
TENANTS_CASE = Case("sdxl", (1024, 1024), ("4GiB",), ("bf16",), tile=64)  # its limit is ample, and there is room for two of it


def rehearsed(case: Case) -> Case:
    """The same on the CPU with a tiny size; there no memory is the host's alone."""
    small = (128, 64)
    limits = tuple(dict.fromkeys(AMPLE if limit == AMPLE else f"{200 - 20 * i}MiB" for i, limit in enumerate(case.limits)))
    return replace(case, size=small, limits=limits, frames=min(case.frames, 5), tile=case.tile and 8, rounds=min(case.rounds, 2),
                   repeats=min(case.repeats, 2))


def parts() -> list[str]:
    """Names with their dtype, the most telling first: each case in its first, then the rest."""
    named = [(case.dtypes.index(dtype), f"{name}-{dtype}") for name, case in CASES.items() for dtype in case.dtypes]
    return [name for rank, name in sorted(named, key=lambda each: each[0]) if rank == 0] + [QUEUE, TENANTS] \
        + [name for rank, name in sorted(named, key=lambda each: each[0]) if rank > 0]
