"""Makes a picture with SDXL. Its VAE decodes the untiled picture inside a memory limit. For an NVIDIA GPU, build Headroom with CUDA (docs/python.md).

    python sdxl.py "a lighthouse in a storm" --height 1536 --width 2048 --limit 4GiB -o picture.png
"""

import argparse

import diffusers
import headroom_vae
import torch


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompt")
    parser.add_argument("--height", type=int, default=1024)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--limit", default="auto", help="memory for the decode, such as 4GiB")
    parser.add_argument("-o", "--output", default="picture.png")
    asked = parser.parse_args()

    pipe = diffusers.StableDiffusionXLPipeline.from_pretrained(
        "stabilityai/stable-diffusion-xl-base-1.0", torch_dtype=torch.float16, variant="fp16"
    )
    if torch.cuda.is_available():
        pipe.enable_model_cpu_offload()

    # Without dtype a VAE in fp16 decodes in fp32, because its config has force_upcast.
    with headroom_vae.enable(pipe, limit=asked.limit, dtype="bf16") as handle:
        print(handle.predict(asked.height, asked.width))
        picture = pipe(asked.prompt, height=asked.height, width=asked.width).images[0]
        print(handle.report())
    picture.save(asked.output)


if __name__ == "__main__":
    main()
