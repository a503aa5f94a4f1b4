"""Rows of gpu_shapes.py that LibTorch gives, on the libraries that Headroom's module calls: convolutions, products, attention, pinned memory.

Seconds are medians of a few calls between two events of the card (on the CPU by its clock), after one that nobody counts.
"""

import ctypes
import itertools
import mmap
import statistics
import time
from contextlib import ExitStack
from typing import Any, Callable

Rows = list[dict[str, Any]]
Steps = dict[str, Callable[[], Rows]]
CALLS = 5
GIB, MIB = 1 << 30, 1 << 20
# Of SDXL's decoder: channels in, out, kernel's side, positions a side for a picture of 1024².
CONVOLUTIONS = ((4, 512, 3, 128), (512, 512, 1, 128), (512, 512, 3, 128), (512, 512, 3, 256), (512, 512, 2, 256), (512, 512, 3, 512),
                (512, 512, 2, 512), (512, 256, 3, 512), (512, 256, 1, 512), (256, 256, 3, 512), (256, 256, 3, 1024), (256, 256, 2, 1024),
                (256, 128, 3, 1024), (256, 128, 1, 1024), (128, 128, 3, 1024), (128, 3, 3, 1024))
ALSO_AT_2048 = ((512, 512, 3, 256), (512, 512, 3, 512), (512, 512, 3, 1024), (512, 256, 3, 1024), (256, 256, 3, 1024), (256, 256, 3, 2048),
                (256, 128, 3, 2048), (128, 128, 3, 2048), (128, 3, 3, 2048))
QUERIES, KEYS = (256, 512, 1024, 2048, 4096), (2048, 4096, 8192, 16384)
HEAD = 512
PINNED_BYTES = 16 * GIB


class Lab:
    """Where shapes are tried: torch, the device, and how much smaller it all is in a rehearsal."""

    def __init__(self, place: Any, rehearse: bool):
        import torch

        self.torch, self.device, self.smaller = torch, place.device, 32 if rehearse else 1
        self.dtype = torch.float32 if rehearse else torch.bfloat16
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
        torch.set_grad_enabled(False)

    def random(self, *shape: int, **options: Any) -> Any:
        return self.torch.randn(*shape, dtype=self.dtype, device=self.device, **options)

    def seconds(self, work: Callable[[], Any]) -> float:
        work()
        if self.device != "cuda":
            return statistics.median(self.by_clock(work) for _ in range(2))
        self.torch.cuda.synchronize()
        marks = [self.torch.cuda.Event(enable_timing=True) for _ in range(CALLS + 1)]
        marks[0].record()
        for mark in marks[1:]:
            work()
            mark.record()
        self.torch.cuda.synchronize()
        return statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:])) / 1e3

    def by_clock(self, work: Callable[[], Any]) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    def row(self, what: str, work: Callable[[], Any], **figures: Any) -> dict[str, Any]:
        """A shape that fails does not take the others with it."""
        try:
            return {"what": what, "seconds": self.seconds(work), **figures}
        except RuntimeError as error:
            if self.device == "cuda":
                self.torch.cuda.empty_cache()
            return {"what": what, "error": str(error).splitlines()[0][:160]}


# Convolutions ---------------------------------------------------------------------------------------------------------

def convolution_rows(lab: Lab, shape: tuple[int, int, int, int]) -> Rows:
    channels, outputs, kernel, side = shape
    side = max(4, side // lab.smaller)
    torch, layouts = lab.torch, {"channels-last": lab.torch.channels_last, "planes": lab.torch.contiguous_format}
    flops, count = 2.0 * side * side * channels * outputs * kernel**2, 2 * (channels + outputs) * side * side
    rows = []
    for (layout, format), benchmark, biased in itertools.product(layouts.items(), (False, True), (False, True)):
        pixels = lab.random(1, channels, side, side).contiguous(memory_format=format)
        weights = lab.random(outputs, channels, kernel, kernel).contiguous(memory_format=format)
        bias = lab.random(outputs) if biased else None
        torch.backends.cudnn.benchmark = benchmark
        words = f"{layout}{', benchmark' * benchmark}{', bias' * biased}"
        rows.append(lab.row(words, lambda: torch.nn.functional.conv2d(pixels, weights, bias, padding=kernel // 2), flops=flops, bytes=count))
    torch.backends.cudnn.benchmark = False
    return rows


def convolution_steps(place: Any, rehearse: bool) -> Steps:
    lab = Lab(place, rehearse)
    shapes = CONVOLUTIONS[:3] if rehearse else dict.fromkeys(CONVOLUTIONS + ALSO_AT_2048)
    return {f"{kernel}×{kernel} {channels}→{outputs} at {side}²": lambda shape=(channels, outputs, kernel, side): convolution_rows(lab, shape)
            for channels, outputs, kernel, side in shapes}


def residual_rows(lab: Lab, channels: int, side: int) -> Rows:
    """conv → +bias → +z by cuDNN's fused call, which adds a ReLU, against the convolution and an addition in place."""
    side = max(4, side // lab.smaller)
    torch = lab.torch
    pixels, other = (lab.random(1, channels, side, side).contiguous(memory_format=torch.channels_last) for _ in range(2))
    weights, bias = lab.random(channels, channels, 3, 3).contiguous(memory_format=torch.channels_last), lab.random(channels)
    flops = 18.0 * side * side * channels**2

    def conv() -> Any:
        return torch.nn.functional.conv2d(pixels, weights, bias, padding=1)

    return [lab.row("convolution", conv, flops=flops), lab.row("convolution, then add in place", lambda: conv().add_(other), flops=flops),
            lab.row("cudnn_convolution_add_relu", lambda: torch.cudnn_convolution_add_relu(
                pixels, weights, other, 1.0, bias, (1, 1), (1, 1), (1, 1), 1), flops=flops)]


def residual_steps(place: Any, rehearse: bool) -> Steps:
    lab = Lab(place, rehearse)
    return {f"{channels} channels at {side}²": lambda channels=channels, side=side: residual_rows(lab, channels, side)
            for channels, side in ((512, 256), (256, 512), (128, 1024))}


# Attention ------------------------------------------------------------------------------------------------------------

def product_rows(lab: Lab, queries: int) -> Rows:
    """Scores and what they weigh, of so many queries, by chunks of keys."""
    rows = []
    for keys in (max(16, count // lab.smaller) for count in KEYS):
        some = max(16, queries // lab.smaller)
        query, key, value, weights = lab.random(some, HEAD), lab.random(keys, HEAD), lab.random(keys, HEAD), lab.random(some, keys)
        scores, out = lab.random(some, keys), lab.random(some, HEAD)
        flops = 2.0 * some * keys * HEAD
        rows.append(lab.row(f"Q·Kᵀ, {keys} keys", lambda: lab.torch.matmul(query, key.T, out=scores), flops=flops))
        rows.append(lab.row(f"P·V, {keys} keys", lambda: lab.torch.matmul(weights, value, out=out), flops=flops))
    return rows


def product_steps(place: Any, rehearse: bool) -> Steps:
    lab = Lab(place, rehearse)
    return {f"{queries} queries": lambda queries=queries: product_rows(lab, queries) for queries in QUERIES}


def attention_rows(lab: Lab, positions: int) -> Rows:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    positions = max(64, positions // lab.smaller)
    query, key, value = (lab.random(1, 1, positions, HEAD) for _ in range(3))
    flops, rows = 4.0 * positions**2 * HEAD, []
    for name in ("CUDNN_ATTENTION", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "MATH"):
        def attend(backend: Any = getattr(SDPBackend, name)) -> Any:
            with sdpa_kernel(backend):
                return lab.torch.nn.functional.scaled_dot_product_attention(query, key, value)

        rows.append(lab.row(f"PyTorch's {name}, {positions} positions", attend, flops=flops))
    return rows


def attention_steps(place: Any, rehearse: bool) -> Steps:
    lab = Lab(place, rehearse)
    return {f"LibTorch's at {side}²": lambda side=side: attention_rows(lab, (side // 8) ** 2) for side in (1024, 2048)}


# Memory and bands -----------------------------------------------------------------------------------------------------

class CudaHost:
    """The runtime's own calls: LibTorch's allocator rounds up and keeps what it took."""

    def __init__(self, lab: Lab):
        self.rehearsed = lab.device != "cuda"
        if not self.rehearsed:
            lab.torch.cuda.init()
            self.runtime = ctypes.CDLL(f"libcudart.so.{lab.torch.version.cuda.split('.')[0]}")

    def check(self, status: int, what: str) -> None:
        if status:
            raise RuntimeError(f"{what} ended with {status}")

    def allocate(self, count: int, held: ExitStack) -> None:
        if self.rehearsed:
            return self.touch(count, held)
        memory = ctypes.c_void_p()
        self.check(self.runtime.cudaHostAlloc(ctypes.byref(memory), ctypes.c_size_t(count), 1), f"cudaHostAlloc of {count >> 20} MiB")  # portable
        held.callback(self.runtime.cudaFreeHost, memory)

    def touch(self, count: int, held: ExitStack) -> int:
        """Memory of the process, written to, and then made known to the card."""
        memory = held.enter_context(mmap.mmap(-1, count))
        for place in range(0, count, mmap.PAGESIZE):
            memory[place] = 1
        if self.rehearsed:
            return 0
        view = (ctypes.c_char * count).from_buffer(memory)
        address = ctypes.c_void_p(ctypes.addressof(view))
        del view
        self.check(self.runtime.cudaHostRegister(address, ctypes.c_size_t(count), 1), f"cudaHostRegister of {count >> 20} MiB")
        held.callback(self.runtime.cudaHostUnregister, address)
        return 0


def free_host_bytes() -> int:
    with open("/proc/meminfo", encoding="ascii") as lines:
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


def pinned_row(host: CudaHost, total: int, piece: int, touched: bool) -> dict[str, Any]:
    with ExitStack() as held:
        start = time.perf_counter()
        try:
            for _ in range(total // piece):
                (host.touch if touched else host.allocate)(piece, held)
        except (RuntimeError, OSError) as error:
            return {"what": "", "error": str(error)[:160]}
        return {"what": "", "seconds": time.perf_counter() - start, "bytes": total}


def pinned_steps(place: Any, rehearse: bool) -> Steps:
    lab = Lab(place, rehearse)
    total = 16 * MIB if rehearse else min(PINNED_BYTES, free_host_bytes() // 2 // (16 * MIB) * (16 * MIB))
    few = MIB if rehearse else GIB  # Python touches pages one by one

    def rows(count: int, pieces: int, words: str, touched: bool = False) -> Rows:
        return [pinned_row(CudaHost(lab), count, count // pieces, touched) | {"what": f"{count / GIB:.3g} GiB, {words}"}]

    steps = {words: lambda words=words, pieces=pieces: rows(total, pieces, words)
             for words, pieces in (("at once", 1), ("in 4 pieces", 4), ("in 8 pieces", 8), ("in 16 pieces", 16))}
    return steps | {"touched first": lambda: rows(few, 1, "touched first, by one thread", touched=True)}


def band_rows(lab: Lab, channels: int, side: int) -> Rows:
    """SiLU of a norm, convolution, sums: over the whole and in bands that may stay in L2 between them."""
    torch, side = lab.torch, max(32, side // lab.smaller)
    pixels = lab.random(1, channels, side, side).contiguous(memory_format=torch.channels_last)
    weights = lab.random(channels, channels, 3, 3).contiguous(memory_format=torch.channels_last)
    scale, shift = lab.random(1, channels, 1, 1), lab.random(1, channels, 1, 1)
    flops, row_bytes, found = 18.0 * side * side * channels**2, channels * side * pixels.element_size(), []

    def chain(rows: int) -> None:
        for begin in range(0, side, rows):
            band = torch.nn.functional.silu(torch.addcmul(shift, pixels[:, :, begin:begin + rows], scale))
            torch.var_mean(torch.nn.functional.conv2d(band, weights, padding=1), dim=(0, 2, 3))

    for rows in dict.fromkeys([*(max(2, (size * MIB // lab.smaller) // row_bytes) for size in (2, 4, 8, 16, 32, 64)), side]):
        if rows <= side:
            words = "the whole" if rows == side else f"bands of {rows} rows, {rows * row_bytes / MIB:.3g} MiB"
            found.append(lab.row(words, lambda rows=rows: chain(rows), flops=flops))
    return found


def band_steps(place: Any, rehearse: bool) -> Steps:
    lab = Lab(place, rehearse)
    return {f"{channels} channels at {side}²": lambda channels=channels, side=side: band_rows(lab, channels, side)
            for channels, side in ((256, 1024), (128, 2048))}
