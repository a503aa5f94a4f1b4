"""Headroom: the untiled picture of a VAE decoder, inside the bytes that you have, with the peak known before the run.

    >>> import headroom_vae
    >>> headroom_vae.predict("sdxl", height=2048, width=2048, limit="4GiB")
    >>> headroom_vae.enable(pipe, limit="4GiB")
    >>> image = pipe(prompt).images[0]
"""

from . import module, notebook  # noqa: F401
from ._core import Plan, __version__, built_in_models
from .checkpoints import describe
from .decoding import Handle, disable, enable, handle_of
from .described import SUPPORTED_CLASSES
from .errors import (
    DeviceError,
    DoesNotFit,
    HeadroomError,
    InputError,
    LimitExceeded,
    OutOfGpuMemory,
    Unsupported,
    VerificationError,
)
from .frontiers import Frontier, FrontierPoint, frontier
from .module import DecodeReport
from .prediction import Prediction, explain, plan, predict
from .record import record
from .stream_prediction import StreamPrediction
from .streams import Stream, stream

__all__ = [
    "SUPPORTED_CLASSES",
    "DecodeReport",
    "DeviceError",
    "DoesNotFit",
    "Frontier",
    "FrontierPoint",
    "Handle",
    "HeadroomError",
    "InputError",
    "LimitExceeded",
    "OutOfGpuMemory",
    "Plan",
    "Prediction",
    "Stream",
    "StreamPrediction",
    "Unsupported",
    "VerificationError",
    "__version__",
    "built_in_models",
    "describe",
    "disable",
    "enable",
    "explain",
    "frontier",
    "handle_of",
    "plan",
    "predict",
    "record",
    "stream",
]


def __dir__() -> list[str]:
    return sorted(__all__)
