"""Commands of the GPU check: what ends when time is up, and how a part says that it cannot go on."""

import importlib.metadata
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator

import measure

ROOT = Path(__file__).resolve().parents[2]
PUBLISH_SECONDS = 5
Entry = dict[str, Any]


class Failed(Exception):
    """The part cannot go on; says why in one line."""


class Stopped(Exception):
    """Time was up; another call goes on."""


class Refused(Exception):
    """The machine does not allow the part, which is no fault of Headroom's."""


class Commands:
    """Runs children in groups of their own, so that nothing of them is left when time is up."""

    def __init__(self, seconds: float | None, site: Path, meanwhile: Callable[[], None]):
        """`site` holds Python packages of the bundle; `meanwhile` is called every few seconds."""
        self.end = time.monotonic() + seconds if seconds else None
        self.site, self.meanwhile = site, meanwhile
        self.libraries: list[Path] = []  # folders in which programs from the bundle find theirs
        self.stopping = False

    def left(self) -> float | None:
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    def stop(self) -> None:
        """Ends what other threads run."""
        self.stopping = True

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Ends what is run meanwhile by then, if not before."""
        before, own = self.end, time.monotonic() + seconds
        self.end = own if before is None else min(before, own)
        try:
            yield
        finally:
            self.end = before

    def environment(self) -> dict[str, str]:
        own = {"PYTHONPATH": [self.site], "LD_LIBRARY_PATH": self.libraries}
        return os.environ | {name: os.pathsep.join(filter(None, [*map(str, folders), os.environ.get(name)])) for name, folders in own.items() if folders}

    def run(self, command: list[str], seconds: float | None = None, shown: bool = False) -> tuple[int | None, str]:
        """The exit status, None where time was up, and all output; `shown` prints it as it comes."""
        limits = [limit for limit in (seconds, self.left()) if limit is not None]
        end = time.monotonic() + min(limits) if limits else None
        measure.note("$ " + shlex.join(map(local, command)))
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0,
                                 env=self.environment(), cwd=ROOT)
        os.set_blocking(child.stdout.fileno(), False)
        out, published = bytearray(), time.monotonic()
        try:
            while True:
                if time.monotonic() > published + PUBLISH_SECONDS and threading.current_thread() is threading.main_thread():
                    self.meanwhile()
                    published = time.monotonic()
                chunk = child.stdout.read()
                out += chunk or b""
                if chunk and shown:
                    sys.stderr.buffer.write(chunk)
                    sys.stderr.flush()
                if chunk == b"" or (chunk is None and child.poll() is not None):
                    status = child.wait()
                    return status, (out + (child.stdout.read() or b"")).decode(errors="replace")
                if self.stopping or (end and time.monotonic() > end):
                    return None, out.decode(errors="replace")
                if chunk is None:
                    time.sleep(0.05)
        finally:
            end_group(child)
            child.stdout.close()


def end_group(child: subprocess.Popen) -> None:
    """The child and its own, politely first. Whoever ended by itself left nothing."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(child.pid, kind)
        except ProcessLookupError:
            break
        try:
            child.wait(10)
        except subprocess.TimeoutExpired:
            pass
    child.wait()


def local(word: str) -> str:
    """Without the machine's own folders."""
    return word.replace(str(ROOT) + "/", "").replace(sys.executable, "python3")


def succeed(done: tuple[int | None, str], what: str) -> str:
    status, out = done
    if status == 0:
        return out
    if status is None:
        raise Stopped(f"{what}: time was up")
    last = next((line for line in reversed(out.splitlines()) if line.strip()), "no message")
    raise Failed(f"{what}: ended with {status}: {last[:200]}")


def has_package(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
