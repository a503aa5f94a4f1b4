"""A node for ComfyUI that shows frames while a clip is sampled.

Copy this file to ComfyUI's folder custom_nodes. The node "Show Blocks (Headroom)" takes the sampler of "Sampler AR Video", which makes a
clip block by block (Causal Forcing, Self-Forcing), and a VAE of Wan 2.1. Connect its output to "SamplerCustomAdvanced". Whenever a block is
done, the node decodes it where ComfyUI has put the VAE, and shows its last frame. The frames equal those of a decode of the whole clip.
"""

import copy

import headroom_vae


class Streamed:
    """A sampler's function that decodes each block when its last step is done."""

    def __init__(self, function, vae, limit):
        self.function, self.vae, self.limit = function, vae, limit

    def __call__(self, model, x, sigmas, callback=None, **others):
        import comfy.utils

        batch, _, latent_frames, rows, columns = x.shape
        pixels, last = self.vae.spacial_compression_decode(), float(sigmas[-2])
        bar, done = comfy.utils.ProgressBar(latent_frames), 0

        def after_step(step):
            nonlocal done
            if callback is not None:
                callback(step)
            if float(step["sigma"]) == last:
                latents = model.inner_model.inner_model.process_latent_out(step["denoised"])
                frames, done = stream.push(latents.cpu()), done + latents.shape[2]
                bar.update_absolute(done, latent_frames, preview(frames) if frames.shape[2] else None)

        with headroom_vae.stream(self.vae.first_stage_model, rows * pixels, columns * pixels, self.limit, batch=batch) as stream:
            return self.function(model, x, sigmas, callback=after_step, **others)


def preview(frames):
    """The last frame of the first clip, as ComfyUI's progress bar takes it."""
    from PIL import Image

    picture = (frames[0, :, -1].float().movedim(0, -1) * 127.5 + 127.5).clamp(0, 255).byte()
    return "JPEG", Image.fromarray(picture.numpy()), 512


class ShowBlocks:
    CATEGORY = "sampling/custom_sampling/samplers"
    RETURN_TYPES = ("SAMPLER",)
    FUNCTION = "wrapped"

    @classmethod
    def INPUT_TYPES(cls):
        limit = {"default": "auto", "tooltip": "memory for the decode, such as 4GiB; auto: what is free"}
        return {"required": {"sampler": ("SAMPLER",), "vae": ("VAE",), "limit": ("STRING", limit)}}

    def wrapped(self, sampler, vae, limit):
        sampler = copy.copy(sampler)
        sampler.sampler_function = Streamed(sampler.sampler_function, vae, limit)
        return (sampler,)


NODE_CLASS_MAPPINGS = {"HeadroomShowBlocks": ShowBlocks}
NODE_DISPLAY_NAME_MAPPINGS = {"HeadroomShowBlocks": "Show Blocks (Headroom)"}
