"""Makes a picture with FLUX.1. If the decode does not fit the limit, the error comes before the denoising and names remedies.

    python flux.py "a lighthouse in a storm" --limit 2GiB -o picture.png
"""

import argparse
import sys

import diffusers
import headroom_vae
import torch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompt")
    parser.add_argument("--height", type=int, default=1024)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--limit", default="2GiB", help="memory for the decode")
    parser.add_argument("-o", "--output", default="picture.png")
    asked = parser.parse_args()

    pipe = diffusers.FluxPipeline.from_pretrained("black-forest-labs/FLUX.1-schnell", torch_dtype=torch.bfloat16)
    if torch.cuda.is_available():
        pipe.enable_sequential_cpu_offload()

    handle = headroom_vae.enable(pipe, limit=asked.limit)
    try:
        picture = pipe(
            asked.prompt, height=asked.height, width=asked.width, num_inference_steps=4, guidance_scale=0.0, max_sequence_length=256
        ).images[0]
    except headroom_vae.DoesNotFit as error:
        sys.exit(f"{error}\nTry --limit {error.smallest_limit_bytes}")
    print(handle.report())
    picture.save(asked.output)


if __name__ == "__main__":
    main()
