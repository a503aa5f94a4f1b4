"""Options of :func:`headroom_vae.enable`, and their checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from .amounts import THRIFT, any_case, require_sensible_limit
from .described import dtype_name
from .errors import InputError
from .executors import require_executor
from .prediction import planner_options


@dataclass(frozen=True)
class Options:
    """Options as passed to :func:`headroom_vae.enable`."""

    limit: int | str | None = "auto"
    host_limit: int | str = "auto"
    scratch: str | None = None
    profile: str | None = None
    thrift: float | str = THRIFT
    on_misfit: str = "raise"
    verify: bool | str = False
    release: bool = False
    progress: bool | Callable[[float], None] | None = None
    executor: str = "auto"
    dtype: Any = None

    def __post_init__(self) -> None:
        for name in ("limit", "host_limit"):
            object.__setattr__(self, name, any_case(getattr(self, name)))
        if self.dtype is not None:
            object.__setattr__(self, "dtype", dtype_name(self.dtype))

    def checked(self) -> Options:
        if self.on_misfit not in ("raise", "original"):
            raise InputError(f"on_misfit: expected 'raise' or 'original', found {self.on_misfit!r}")
        if not isinstance(self.verify, int) and self.verify != "torch":
            raise InputError(f"verify: expected True, False or 'torch', found {self.verify!r}")
        if not isinstance(self.release, int):
            raise InputError(f"release: expected True or False, found {self.release!r}")
        if self.release and (self.verify or self.on_misfit == "original"):
            raise InputError("release=True: the original decode is gone then; expected verify=False and on_misfit='raise'")
        require_executor(self.executor)
        require_sensible_limit(self.limit)
        planner_options(0 if self.host_limit == "auto" else self.host_limit, self.scratch, self.profile, self.thrift)
        if not (self.progress is None or isinstance(self.progress, bool) or callable(self.progress)):
            raise InputError(f"progress: expected True, False, None or a function of the share that is done, found {self.progress!r}")
        return self

    def of_decode(self) -> dict[str, Any]:
        """The options that determine a decode's plan, as keywords of ModuleDecoder's functions."""
        return {
            "limit": self.limit, "host_limit": self.host_limit, "scratch": self.scratch, "profile": self.profile, "thrift": self.thrift,
            "release": self.release, "executor": self.executor, "precision": self.dtype,
        }  # fmt: skip
