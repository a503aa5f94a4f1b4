"""Makes a clip with Wan 2.1, and saves each frame as soon as it is decoded. The frames equal those of a decode of the whole clip.

    python wan_stream.py "waves at a lighthouse" --frames 81 --limit 6GiB -o frames

The VAE decodes on the CPU. A sampler that makes clips block by block pushes each block when it has it, in the same way.
"""

import argparse
from pathlib import Path

import diffusers
import headroom_vae
import torch
from diffusers.utils import pt_to_pil


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prompt")
    parser.add_argument("--height", type=int, default=480)
    parser.add_argument("--width", type=int, default=832)
    parser.add_argument("--frames", type=int, default=33, help="1 plus a multiple of 4")
    parser.add_argument("--limit", default="auto", help="memory for the stream, such as 6GiB")
    parser.add_argument("-o", "--output", default="frames", help="folder for the frames")
    asked = parser.parse_args()

    pipe = diffusers.WanPipeline.from_pretrained("Wan-AI/Wan2.1-T2V-1.3B-Diffusers", torch_dtype=torch.bfloat16)
    if torch.cuda.is_available():
        pipe.enable_group_offload(onload_device=torch.device("cuda"), offload_type="leaf_level", use_stream=True, exclude_modules=["vae"])
    vae, folder = pipe.vae.float(), Path(asked.output)
    folder.mkdir(parents=True, exist_ok=True)

    latents = pipe(asked.prompt, height=asked.height, width=asked.width, num_frames=asked.frames, output_type="latent").frames
    mean, deviation = (torch.tensor(values).reshape(1, -1, 1, 1, 1) for values in (vae.config.latents_mean, vae.config.latents_std))
    latents = latents.cpu().float() * deviation + mean

    done = 0
    with headroom_vae.stream(vae, asked.height, asked.width, limit=asked.limit) as stream:
        for part in (*latents.split(1, dim=2), None):
            frames = stream.finish() if part is None else stream.push(part)
            for frame in frames[0].movedim(1, 0):
                pt_to_pil(frame[None])[0].save(folder / f"{done:05}.png")
                done += 1
        print(f"{done} frames; {stream}")


if __name__ == "__main__":
    main()
