"""A block for diffusers' modular pipelines: SDXL's decode step inside a memory limit."""

import headroom_vae
from diffusers.modular_pipelines import InputParam, OutputParam
from diffusers.modular_pipelines.stable_diffusion_xl.decoders import StableDiffusionXLDecodeStep


class HeadroomDecodeStep(StableDiffusionXLDecodeStep):
    """Decodes latents to pictures with Headroom. The VAE stays enabled, so the next decode finds its packed weights."""

    @property
    def description(self):
        return "Decodes the denoised latents inside a memory limit. The picture equals the untiled one up to rounding."

    @property
    def inputs(self):
        about = 'Memory for the decode in bytes, or as "4GiB". "auto": the free memory'
        return [*super().inputs, InputParam("limit", default="auto", description=about)]

    @property
    def intermediate_outputs(self):
        return [*super().intermediate_outputs, OutputParam("decode_report", description="Device, peak and seconds of the decode")]

    def __call__(self, components, state):
        limit = self.get_block_state(state).limit
        handle = headroom_vae.handle_of(components.vae)
        if handle is None or handle.options.limit != limit:
            handle = headroom_vae.enable(components.vae, limit=limit)
        components, state = StableDiffusionXLDecodeStep()(components, state)
        state.set("decode_report", handle.last)
        return components, state
