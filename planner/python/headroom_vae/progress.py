"""Progress bars for decodes, like those of pipelines."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

from . import _core

LONG_SECONDS = 5.0
"""A decode that is expected to take less shows no bar by itself."""


@contextlib.contextmanager
def progress_of(
    wanted: bool | Callable[[float], None] | None, pipeline_bar: Any, plan: _core.Plan
) -> Iterator[Callable[[float], None] | None]:
    """Yields the callback that receives the share done, or None if nobody wants it."""
    if callable(wanted):
        yield wanted
    elif wanted is True or (wanted is None and pipeline_bar is not None and plan.seconds >= LONG_SECONDS):
        with _bar(pipeline_bar) as bar:
            bar.set_description("VAE decode")

            def show(share: float) -> None:
                bar.update(round(100 * share) - bar.n)

            yield show
    else:
        yield None


def _bar(pipeline_bar: Any) -> Any:
    if pipeline_bar is not None:
        return pipeline_bar(total=100)
    from tqdm.auto import tqdm

    return tqdm(total=100)
