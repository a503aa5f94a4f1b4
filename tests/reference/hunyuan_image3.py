"""Decoder of HunyuanImage 3's VAE as a plain PyTorch module, with the tensor names of the published checkpoint.

    model = HunyuanImage3(config)     # keys as in the vae entry of the model's config.json
    picture = model.decode(latent)    # N×C×H×W

The architecture is that of Tencent-Hunyuan/HunyuanImage-3.0, autoencoder_kl_3d.py. A latent of one frame becomes a few
frames there, and the picture is the last one.
"""

import torch
import torch.nn.functional as F
from torch import nn


def norm(channels):
    return nn.GroupNorm(32, channels, 1e-6)


def conv(inputs, outputs, side=3):
    return nn.Conv3d(inputs, outputs, side, padding=side // 2)


def unfolded(clip, frames):
    """Channels, ordered as frames, rows, columns and channels, become frames and pixels."""
    batch, channels, length, rows, columns = clip.shape
    parts = clip.reshape(batch, frames, 2, 2, channels // (4 * frames), length, rows, columns)
    return parts.permute(0, 4, 5, 1, 6, 2, 7, 3).reshape(batch, -1, length * frames, rows * 2, columns * 2)


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1, self.conv1 = norm(inputs), conv(inputs, outputs)
        self.norm2, self.conv2 = norm(outputs), conv(outputs, outputs)
        self.nin_shortcut = conv(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, clip):
        hidden = self.conv1(F.silu(self.norm1(clip)))
        return self.nin_shortcut(clip) + self.conv2(F.silu(self.norm2(hidden)))


class Attention(nn.Module):
    """One head over all positions of all frames."""

    def __init__(self, channels):
        super().__init__()
        self.norm = norm(channels)
        self.q, self.k, self.v, self.proj_out = (conv(channels, channels, 1) for _ in range(4))

    def forward(self, clip):
        normed = self.norm(clip)
        q, k, v = (layer(normed).flatten(2).transpose(1, 2) for layer in (self.q, self.k, self.v))
        mixed = torch.softmax(q @ k.transpose(1, 2) * q.shape[-1] ** -0.5, dim=-1) @ v
        return clip + self.proj_out(mixed.transpose(1, 2).reshape(clip.shape))


class Upsample(nn.Module):
    def __init__(self, inputs, outputs, frames):
        super().__init__()
        self.frames, self.repeats = frames, 4 * frames * outputs // inputs
        self.conv = conv(inputs, 4 * frames * outputs)

    def forward(self, clip):
        return unfolded(self.conv(clip) + clip.repeat_interleave(self.repeats, dim=1), self.frames)


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        widths = config["block_out_channels"][::-1]
        now = widths[0]
        self.repeats = now // config["latent_channels"]
        self.conv_in = conv(config["latent_channels"], now)
        self.mid = nn.ModuleDict({"block_1": Block(now, now), "attn_1": Attention(now), "block_2": Block(now, now)})
        self.up = nn.ModuleList()
        for level, width in enumerate(widths):
            blocks = nn.ModuleList()
            for _ in range(config["layers_per_block"] + 1):
                blocks.append(Block(now, width))
                now = width
            up = nn.ModuleDict({"block": blocks})
            if 2**level < config["ffactor_spatial"]:
                after = widths[level + 1] if config.get("upsample_match_channel", True) else now
                up["upsample"] = Upsample(now, after, 2 if 2**level < config["ffactor_temporal"] else 1)
                now = after
            self.up.append(up)
        self.norm_out, self.conv_out = norm(now), conv(now, config["out_channels"])

    def forward(self, latent):
        clip = self.conv_in(latent) + latent.repeat_interleave(self.repeats, dim=1)
        for layer in self.mid.values():
            clip = layer(clip)
        for up in self.up:
            for block in up["block"]:
                clip = block(clip)
            clip = up["upsample"](clip) if "upsample" in up else clip
        return self.conv_out(F.silu(self.norm_out(clip)))


class HunyuanImage3(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.decoder = Decoder(config)

    def decode(self, latent):
        return self.decoder(latent[:, :, None])[:, :, -1]
