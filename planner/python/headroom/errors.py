"""What Headroom raises. The messages are one line that names what was expected."""

from __future__ import annotations


class HeadroomError(Exception):
    """Of which all others are."""


class InputError(HeadroomError, ValueError):
    """Something that was given is not what was expected."""


class Unsupported(InputError):
    """A decoder of a class, or with a config, that Headroom does not decode."""


class DoesNotFit(HeadroomError, MemoryError):
    """No plan fits the limit. Nothing was decoded, and nothing was allocated."""

    def __init__(self, message: str, smallest_limit_bytes: int = 0, remedies: tuple[dict, ...] = ()):
        super().__init__(message)
        self.smallest_limit_bytes = smallest_limit_bytes
        """The smallest limit that works."""
        self.remedies = remedies
        """What else would help: dicts with ``change``, ``fits`` and what it takes."""

    def __str__(self) -> str:
        return str(self.args[0])


class OutOfGpuMemory(DoesNotFit):
    """A plan fits its limit, but others hold what it takes of the GPU's memory. Nothing was decoded."""


class LimitExceeded(HeadroomError, MemoryError):
    """The decode was stopped at its limit."""


class DeviceError(HeadroomError, RuntimeError):
    """The machine or a file failed."""


class ExchangeError(DeviceError):
    """Another rank has ended, did not answer in time, or decodes something else."""


class VerificationError(HeadroomError):
    """``verify=True`` found another picture than the original decode's."""
