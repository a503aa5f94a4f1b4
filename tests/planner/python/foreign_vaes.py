"""VAEs of classes that are not diffusers': written for these tests from the architectures, with the tensor names of original checkpoints."""

from __future__ import annotations

import types
from pathlib import Path

import comfyui_support
import diffusers
import tiny
import torch
import torch.nn.functional as F
from torch import nn


def conv(inputs, outputs, kernel=3, stride=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2 if stride == 1 else 0)


def norm(channels):
    return nn.GroupNorm(32, channels, eps=1e-6)


class Attention(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = norm(width)
        self.q, self.k, self.v, self.proj_out = (conv(width, width, 1) for _ in range(4))

    def forward(self, x):
        n = self.norm(x)
        q, k, v = (part(n).flatten(2).transpose(1, 2)[:, None] for part in (self.q, self.k, self.v))
        return x + self.proj_out(F.scaled_dot_product_attention(q, k, v)[:, 0].transpose(1, 2).reshape(x.shape))


class Block(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.norm1, self.conv1 = norm(inputs), conv(inputs, outputs)
        self.norm2, self.conv2 = norm(outputs), conv(outputs, outputs)
        if inputs != outputs:
            self.nin_shortcut = conv(inputs, outputs, 1)

    def forward(self, x):
        h = self.conv1(self.swish(self.norm1(x)))
        h = self.conv2(self.swish(self.norm2(h)))
        return (self.nin_shortcut(x) if hasattr(self, "nin_shortcut") else x) + h

    @staticmethod
    def swish(x):
        return x * torch.sigmoid(x)


class Upsample(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = conv(width, width)

    def forward(self, x):
        return self.conv(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class Downsample(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv = conv(width, width, stride=2)

    def forward(self, x):
        return self.conv(F.pad(x, (0, 1, 0, 1)))


def middle(width):
    return nn.ModuleDict({"block_1": Block(width, width), "attn_1": Attention(width), "block_2": Block(width, width)})


class Encoder(nn.Module):
    def __init__(self, widths, latent_channels, layers):
        super().__init__()
        self.conv_in = conv(3, widths[0])
        self.down, width = nn.ModuleList(), widths[0]
        for level, out in enumerate(widths):
            part = nn.Module()
            part.block = nn.ModuleList([Block(width if number == 0 else out, out) for number in range(layers)])
            if level + 1 < len(widths):
                part.downsample = Downsample(out)
            self.down.append(part)
            width = out
        self.mid = middle(width)
        self.norm_out, self.conv_out = norm(width), conv(width, 2 * latent_channels)

    def forward(self, x):
        x = self.conv_in(x)
        for part in self.down:
            for block in part.block:
                x = block(x)
            x = part.downsample(x) if hasattr(part, "downsample") else x
        for part in self.mid.values():
            x = part(x)
        return self.conv_out(Block.swish(self.norm_out(x)))


class Decoder(nn.Module):
    def __init__(self, widths, latent_channels, layers):
        super().__init__()
        self.conv_in = conv(latent_channels, widths[-1])
        self.mid = middle(widths[-1])
        width, ups = widths[-1], []
        for level, out in reversed([*enumerate(widths)]):
            part = nn.Module()
            part.block = nn.ModuleList([Block(width if number == 0 else out, out) for number in range(layers + 1)])
            if level > 0:
                part.upsample = Upsample(out)
            ups.insert(0, part)
            width = out
        self.up = nn.ModuleList(ups)
        self.norm_out, self.conv_out = norm(width), conv(width, 3)

    def forward(self, z):
        x = self.conv_in(z)
        for part in self.mid.values():
            x = part(x)
        for part in reversed(self.up):
            for block in part.block:
                x = block(x)
            x = part.upsample(x) if hasattr(part, "upsample") else x
        return self.conv_out(Block.swish(self.norm_out(x)))


class AutoEncoder(nn.Module):
    """FLUX's, as Black Forest Labs write it: the scale and the shift are undone inside of its decode, and the result is a tensor."""

    def __init__(self, widths=(32, 64), latent_channels=16, layers=1):
        super().__init__()
        self.encoder, self.decoder = Encoder(widths, latent_channels, layers), Decoder(widths, latent_channels, layers)
        self.scale_factor, self.shift_factor = 0.3611, 0.1159

    def encode(self, x):
        mean, _ = torch.chunk(self.encoder(x), 2, dim=1)
        return self.scale_factor * (mean - self.shift_factor)

    def decode(self, z):
        return self.decoder(z / self.scale_factor + self.shift_factor)


class Moments(AutoEncoder):
    """CompVis': the encode returns a distribution, the decode has no scale."""

    def __init__(self):
        super().__init__(latent_channels=4)
        self.quant_conv, self.post_quant_conv = conv(8, 8, 1), conv(4, 4, 1)

    def encode(self, x):
        return Distribution(self.quant_conv(self.encoder(x)))

    def decode(self, z):
        return self.decoder(self.post_quant_conv(z))


class Distribution:
    def __init__(self, parameters):
        self.parameters = parameters
        self.mean, self.logvar = parameters.chunk(2, dim=1)

    def sample(self):
        return self.mean + torch.exp(0.5 * self.logvar) * torch.randn_like(self.mean)


class Original(comfyui_support.Renamed):
    """A class of a model's authors: its tensors have the original names, and its own code computes what diffusers' does."""

    def __init__(self, vae, renamed=None):
        super().__init__(vae, renamed, encoder=True)
        self.hidden = [vae]

    def encode(self, x):
        return self.hidden[0].encode(x).latent_dist.mode()

    def decode(self, z):
        return (self.hidden[0].decode(z).sample,)


class Wan(Original):
    """Takes mean and the inverse of the deviation of the latent's channels."""

    def encode(self, x, scale):
        return (super().encode(x) - self.column(scale[0])) * self.column(scale[1])

    def decode(self, z, scale):
        return super().decode(z / self.column(scale[1]) + self.column(scale[0]))[0]

    @staticmethod
    def column(values):
        return values.view(1, -1, 1, 1, 1)


class WanWrapper:
    """Not a module. Decodes lists of clips."""

    def __init__(self, model):
        self.model = model
        self.scale = [torch.linspace(-1, 1, 16), torch.linspace(0.5, 2, 16)]

    def decode(self, clips):
        return [self.model.decode(clip[None], self.scale).clamp_(-1, 1)[0] for clip in clips]


class Flux2(Original):
    """Normalises patches of latents inside of its decode."""

    def decode(self, z):
        values = z * torch.sqrt(self.bn.running_var.view(1, -1, 1, 1) + 1e-4) + self.bn.running_mean.view(1, -1, 1, 1)
        return super().decode(F.pixel_shuffle(values, 2))[0]


def copied(cls: type, name: str = "trainer.vae", **replaced: str) -> type:
    """The class in a copy of diffusers' file under another module's name, perhaps with replaced code."""
    import inspect

    source = Path(inspect.getsourcefile(cls)).read_text()
    for before, after in replaced.values():
        assert before in source
        source = source.replace(before, after)
    module = types.ModuleType(name)
    module.__package__ = cls.__module__.rpartition(".")[0]
    exec(compile(source, name, "exec"), vars(module))  # noqa: S102
    return getattr(module, cls.__name__)


def made(cls: type, like: nn.Module) -> nn.Module:
    """An object of a class with another VAE's config and weights."""
    vae = cls.from_config(like.config).eval()
    vae.load_state_dict(like.state_dict())
    return vae


class Checkpointed(diffusers.AutoencoderKL):
    """A trainer's subclass."""

    def _decode(self, z, return_dict=True):
        return torch.utils.checkpoint.checkpoint(super()._decode, z, return_dict, use_reentrant=False)


def seeded(make, *args, **options):
    return tiny.seeded(make, *args, **options)
