#!/usr/bin/env python3
"""The rate of LibTorch's 3×3 convolutions, as JSON: the yardstick of the other benchmarks.

    python reports/bench/convolution_rate.py --threads 2

Convolves channels-last bands of pixels with the channel counts of an SD-type decoder. The rate is the FLOPs of all shapes
over the sum of their median times. FLOPs are the multiplications and additions of the direct algorithm. On a GPU, rows and
columns are four times as many, since bands would not fill it. TF32 is off.
"""

import argparse
import json
import statistics
import time

import torch

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
SHAPES = ((64, 64, 512, 512), (32, 256, 256, 256), (16, 512, 256, 128), (32, 512, 128, 128))  # rows, columns, in, out
CALLS = 5
LARGER_ON_GPU = 4


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="default: %(default)s")
    parser.add_argument("--dtype", choices=DTYPES, default="fp32", help="default: %(default)s")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="default: %(default)s")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    torch.backends.cudnn.allow_tf32 = False
    larger, wait = (LARGER_ON_GPU, torch.cuda.synchronize) if args.device == "cuda" else (1, lambda: None)
    flops = seconds = 0.0
    for rows, columns, channels, outputs in ((larger * rows, larger * columns, *rest) for rows, columns, *rest in SHAPES):
        def pixels(*shape: int) -> torch.Tensor:
            return torch.randn(*shape, dtype=DTYPES[args.dtype], device=args.device).contiguous(memory_format=torch.channels_last)

        band, kernel = pixels(1, channels, rows + 2, columns + 2), pixels(outputs, channels, 3, 3)
        times = []
        for _ in range(CALLS + 1):
            wait()
            start = time.perf_counter()
            torch.nn.functional.conv2d(band, kernel)
            wait()
            times.append(time.perf_counter() - start)
        flops += 18.0 * rows * columns * channels * outputs
        seconds += statistics.median(times[1:])
    print(json.dumps({"flops_per_second": flops / seconds}))


if __name__ == "__main__":
    main()
