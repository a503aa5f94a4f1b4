"""Tiny decoders that diffusers does not have, as plain PyTorch modules with the tensor names of the published checkpoints.

    clip = TAEHV(config).decode(latent)     # N×C×T×H×W, values -1 … 1
    picture = TAEF2(config).decode(latent)  # N×C×H×W

The architectures are those of taehv.py in madebyollin/taehv, and of taesd.py in madebyollin/taesd (flux_2). The keys of
the configs are Headroom's.
"""

import torch
import torch.nn.functional as F
from torch import nn


def conv(inputs, outputs, side=3, **options):
    return nn.Conv2d(inputs, outputs, side, padding=side // 2, **options)


class Clamp(nn.Module):
    def forward(self, frame):
        return 3 * torch.tanh(frame / 3)


class Block(nn.Module):
    """Three convolutions and a shortcut. With `frames` of 2 it also reads the frame before, which is zeros for the first."""

    def __init__(self, width, frames=1, pools=False):
        super().__init__()
        self.conv = nn.Sequential(conv(frames * width, width), nn.ReLU(), conv(width, width), nn.ReLU(), conv(width, width))
        if pools:
            self.pool = nn.Sequential(conv(width, 4 * width, 1, bias=False), nn.GroupNorm(4, 4 * width), nn.ReLU(), conv(4 * width, width, 1, bias=False))

    def forward(self, frame, before=None):
        if hasattr(self, "pool"):
            frame = frame + self.pool(frame)
        read = frame if before is None else torch.cat((frame, before), dim=1)
        return F.relu(frame + self.conv(read))


class Grow(nn.Module):
    """Turns each frame into several."""

    def __init__(self, width, frames):
        super().__init__()
        self.frames = frames
        self.conv = conv(width, frames * width, 1, bias=False)

    def forward(self, frame):
        return self.conv(frame).chunk(self.frames, dim=1)


class TAEHV(nn.Module):
    def __init__(self, config):
        super().__init__()
        widths, doubles = config["decoder_block_out_channels"], config["decoder_time_upscale"]
        self.patch, self.dropped = config["patch_size"], 2 ** sum(doubles) - 1
        layers = [Clamp(), conv(config["latent_channels"], widths[0]), nn.ReLU()]
        for stage, blocks in enumerate(config["num_decoder_blocks"]):
            width = widths[stage]
            layers += [Block(width, frames=2) for _ in range(blocks)]
            layers += [nn.Upsample(scale_factor=2 if config["decoder_space_upscale"][stage] else 1), Grow(width, 2 if doubles[stage] else 1)]
            layers += [conv(width, widths[stage + 1], bias=False)]
        layers += [nn.ReLU(), conv(widths[-1], config["out_channels"] * self.patch**2)]
        self.decoder = nn.Sequential(*layers)

    def decode(self, latent):
        frames = list(latent.unbind(2))
        for layer in self.decoder:
            if isinstance(layer, Block):
                frames = [layer(frame, frames[i - 1] if i else torch.zeros_like(frame)) for i, frame in enumerate(frames)]
            elif isinstance(layer, Grow):
                frames = [grown for frame in frames for grown in layer(frame)]
            else:
                frames = [layer(frame) for frame in frames]
        frames = [F.pixel_shuffle(frame, self.patch).clamp(0, 1) for frame in frames[self.dropped :]]
        return 2 * torch.stack(frames, dim=2) - 1


class TAEF2(nn.Module):
    """AutoencoderTiny whose blocks of the coarsest resolution begin with a GroupNorm. Names are those of diffusers' class. The encoder has the
    decoder's numbers of blocks in the other order."""

    def __init__(self, config):
        super().__init__()
        width, blocks = config["decoder_block_out_channels"][0], config["num_decoder_blocks"]
        layers = [conv(config["latent_channels"], width), nn.ReLU()]
        for stage, count in enumerate(blocks):
            layers += [Block(width, pools=stage == 0) for _ in range(count)]
            if stage + 1 < len(blocks):
                layers += [nn.Upsample(scale_factor=2), conv(width, width, bias=False)]
        layers += [conv(width, config["out_channels"])]
        self.decoder = nn.Module()
        self.decoder.layers = nn.Sequential(*layers)
        layers = [conv(3, width)]
        for stage, count in enumerate(reversed(blocks)):
            layers += [conv(width, width, stride=2, bias=False)] if stage else []
            layers += [Block(width, pools=stage + 1 == len(blocks)) for _ in range(count)]
        self.encoder = nn.Module()
        self.encoder.layers = nn.Sequential(*layers, conv(width, config["latent_channels"]))

    def encode(self, picture):
        return self.encoder.layers(picture / 2 + 0.5)

    def decode(self, latent):
        return 2 * self.decoder.layers(Clamp()(latent)) - 1
