"""Makes a clip with Wan 2.1. Headroom decodes all frames as a whole inside a memory limit. The returned clip counts too.

    python wan.py "waves at a lighthouse" --frames 33 --limit 6GiB -o clip.mp4
"""

import argparse

import diffusers
import headroom_vae
import torch
from diffusers.utils import export_to_video


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompt")
    parser.add_argument("--height", type=int, default=480)
    parser.add_argument("--width", type=int, default=832)
    parser.add_argument("--frames", type=int, default=33, help="1 plus a multiple of 4")
    parser.add_argument("--limit", default="auto", help="memory for the decode, such as 6GiB")
    parser.add_argument("-o", "--output", default="clip.mp4")
    asked = parser.parse_args()

    pipe = diffusers.WanPipeline.from_pretrained("Wan-AI/Wan2.1-T2V-1.3B-Diffusers", torch_dtype=torch.bfloat16)
    if torch.cuda.is_available():
        pipe.enable_group_offload(onload_device=torch.device("cuda"), offload_type="leaf_level", use_stream=True)

    with headroom_vae.enable(pipe, limit=asked.limit) as handle:
        handle.predict(asked.height, asked.width, asked.frames).require()
        frames = pipe(asked.prompt, height=asked.height, width=asked.width, num_frames=asked.frames).frames[0]
        print(handle.report())
    export_to_video(frames, asked.output, fps=16)


if __name__ == "__main__":
    main()
