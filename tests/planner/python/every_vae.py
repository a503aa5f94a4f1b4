"""pytest plugin that makes every VAE of a supported class decode by Headroom, unless gradients are needed.

    python -m pytest -p every_vae tests/models/autoencoders/test_models_autoencoder_kl.py
"""

from __future__ import annotations

import functools

import diffusers
import headroom_vae
import torch

decodes = {"Headroom": 0, "diffusers": 0}


def install(vae_class: type) -> None:
    own = vae_class.decode

    @functools.wraps(own)
    def decode(self, z, *positional, **keywords):
        trains = torch.is_grad_enabled() and (z.requires_grad or any(tensor.requires_grad for tensor in self.parameters()))
        decodes["diffusers" if trains else "Headroom"] += 1
        if trains:
            return own(self, z, *positional, **keywords)
        headroom_vae.enable(self, limit=None)
        return self.decode(z, *positional, **keywords)

    vae_class.decode = decode


for name in headroom_vae.SUPPORTED_CLASSES:
    if hasattr(diffusers, name):
        install(getattr(diffusers, name))


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"decodes: {decodes['Headroom']} by Headroom, {decodes['diffusers']} by diffusers")
