"""Decoder and encoder of SeedVR2's VAE as a plain PyTorch module, with the tensor names of the published checkpoint.

    model = SeedVR2(config)       # keys as in models/video_vae_v3/s8_c16_t4_inflation_sd3.yaml
    clip = model.decode(latent)   # latents and clips are N×C×T×H×W
    moments = model.encode(clip)  # mean and log-variance

The architecture is that of ByteDance-Seed/SeedVR, models/video_vae_v3/modules/attn_video_vae.py. A decode there may cut
a clip into slices, and gives the frames that the clip as a whole gives.
"""

import torch
import torch.nn.functional as F
from torch import nn

EPSILON = 1e-6


def by_frame(function, clip):
    """Calls a function of pictures with the frames of a clip as a batch."""
    batch, _, frames, _, _ = clip.shape
    return function(clip.transpose(1, 2).flatten(0, 1)).unflatten(0, (batch, frames)).transpose(1, 2)


class CausalConv3d(nn.Conv3d):
    """Reads the first frame again before the beginning, and zeros outside the picture."""

    def __init__(self, inputs, outputs, side):
        super().__init__(inputs, outputs, side, padding=(0, side // 2, side // 2))

    def forward(self, clip):
        earlier = clip[:, :, :1].expand(-1, -1, self.kernel_size[0] - 1, -1, -1)
        return super().forward(torch.cat((earlier, clip), dim=2))


class Block(nn.Module):
    def __init__(self, inputs, outputs, config):
        super().__init__()
        self.norm1 = nn.GroupNorm(config["norm_num_groups"], inputs, EPSILON)
        self.conv1 = CausalConv3d(inputs, outputs, 3)
        self.norm2 = nn.GroupNorm(config["norm_num_groups"], outputs, EPSILON)
        self.conv2 = CausalConv3d(outputs, outputs, 3)
        self.conv_shortcut = CausalConv3d(inputs, outputs, 1) if inputs != outputs else nn.Identity()
        self.activation = getattr(F, config["act_fn"])

    def forward(self, clip):
        hidden = self.conv1(self.activation(by_frame(self.norm1, clip)))
        hidden = self.conv2(self.activation(by_frame(self.norm2, hidden)))
        return self.conv_shortcut(clip) + hidden


class Attention(nn.Module):
    """One head over the positions of a frame."""

    def __init__(self, channels, config):
        super().__init__()
        self.group_norm = nn.GroupNorm(config["norm_num_groups"], channels, EPSILON)
        self.to_q, self.to_k, self.to_v = (nn.Linear(channels, channels) for _ in range(3))
        self.to_out = nn.ModuleList([nn.Linear(channels, channels)])

    def forward(self, picture):
        positions = self.group_norm(picture).flatten(2).transpose(1, 2)
        q, k, v = self.to_q(positions), self.to_k(positions), self.to_v(positions)
        mixed = torch.softmax(q @ k.transpose(1, 2) / q.shape[-1] ** 0.5, dim=-1) @ v
        return picture + self.to_out[0](mixed).transpose(1, 2).unflatten(2, picture.shape[2:])


class Upsample(nn.Module):
    """Doubles rows and columns, and all frames but the first if `frames` is 2."""

    def __init__(self, channels, frames):
        super().__init__()
        self.frames = frames
        self.upscale_conv = nn.Conv3d(channels, channels * 4 * frames, 1)
        self.conv = CausalConv3d(channels, channels, 3)

    def forward(self, clip):
        depth = self.upscale_conv(clip).unflatten(1, (2, 2, self.frames, -1))  # N, row, column, frame, C, T, H, W
        clip = depth.permute(0, 4, 5, 3, 6, 1, 7, 2).flatten(2, 3).flatten(3, 4).flatten(4, 5)
        if self.frames == 2:
            clip = torch.cat((clip[:, :, :1], clip[:, :, 2:]), dim=2)
        return self.conv(clip)


class Level(nn.Module):
    def __init__(self, inputs, outputs, frames, config):
        """`frames` of 0: no upsampling."""
        super().__init__()
        layers = config["layers_per_block"] + 1
        self.resnets = nn.Sequential(*(Block(inputs if i == 0 else outputs, outputs, config) for i in range(layers)))
        self.upsamplers = nn.Sequential(*([Upsample(outputs, frames)] if frames else []))

    def forward(self, clip):
        return self.upsamplers(self.resnets(clip))


class Downsample(nn.Conv3d):
    """Halves rows and columns, and the frames after the first if `frames` is 2. Zeros are only below and to the right."""

    def __init__(self, channels, frames):
        super().__init__(channels, channels, (2 * frames - 1, 3, 3), (frames, 2, 2))

    def forward(self, clip):
        earlier = clip[:, :, :1].expand(-1, -1, self.kernel_size[0] - 1, -1, -1)
        return super().forward(F.pad(torch.cat((earlier, clip), dim=2), (0, 1, 0, 1)))


class Middle(nn.Module):
    def __init__(self, channels, config):
        super().__init__()
        self.attentions = nn.ModuleList([Attention(channels, config)] if config["attention"] else [])
        self.resnets = nn.ModuleList([Block(channels, channels, config) for _ in range(2)])

    def forward(self, clip):
        clip = self.resnets[0](clip)
        for attention in self.attentions:
            clip = by_frame(attention, clip)
        return self.resnets[1](clip)


class Decoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        widths = config["block_out_channels"][::-1]
        self.conv_in = CausalConv3d(config["latent_channels"], widths[0], 3)
        self.mid_block = Middle(widths[0], config)
        self.up_blocks = nn.Sequential()
        for i, width in enumerate(widths):
            frames = 0 if i + 1 == len(widths) else 2 if i < config["temporal_scale_num"] else 1
            self.up_blocks.append(Level(widths[max(0, i - 1)], width, frames, config))
        self.conv_norm_out = nn.GroupNorm(config["norm_num_groups"], widths[-1], EPSILON)
        self.conv_out = CausalConv3d(widths[-1], config["out_channels"], 3)

    def forward(self, latent):
        clip = self.up_blocks(self.mid_block(self.conv_in(latent)))
        return self.conv_out(F.silu(by_frame(self.conv_norm_out, clip)))


class Encoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        widths, layers = config["block_out_channels"], config["layers_per_block"]
        self.conv_in = CausalConv3d(3, widths[0], 3)
        self.down_blocks = nn.Sequential()
        for i, width in enumerate(widths):
            level = nn.Module()
            inputs = widths[max(0, i - 1)]
            level.resnets = nn.Sequential(*(Block(inputs if j == 0 else width, width, config) for j in range(layers)))
            frames = 2 if i + 1 + config["temporal_scale_num"] >= len(widths) else 1
            if i + 1 < len(widths):
                level.downsamplers = nn.ModuleList([nn.Module()])
                level.downsamplers[0].conv = Downsample(width, frames)
            self.down_blocks.append(level)
        self.mid_block = Middle(widths[-1], config)
        self.conv_norm_out = nn.GroupNorm(config["norm_num_groups"], widths[-1], EPSILON)
        self.conv_out = CausalConv3d(widths[-1], 2 * config["latent_channels"], 3)

    def forward(self, clip):
        clip = self.conv_in(clip)
        for level in self.down_blocks:
            clip = level.resnets(clip)
            if hasattr(level, "downsamplers"):
                clip = level.downsamplers[0].conv(clip)
        return self.conv_out(F.silu(by_frame(self.conv_norm_out, self.mid_block(clip))))


class SeedVR2(nn.Module):
    def __init__(self, config):
        super().__init__()
        channels = config["latent_channels"]
        self.post_quant_conv = CausalConv3d(channels, channels, 1) if config["use_post_quant_conv"] else nn.Identity()
        self.decoder = Decoder(config)
        # After the decoder: draws of its weights stay as they are.
        self.encoder = Encoder(config)
        self.quant_conv = CausalConv3d(2 * channels, 2 * channels, 1) if config.get("use_quant_conv") else nn.Identity()

    def encode(self, clip):
        return self.quant_conv(self.encoder(clip))

    def decode(self, latent):
        return self.decoder(self.post_quant_conv(latent))
