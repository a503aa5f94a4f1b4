"""Finds the programs, tests and Python packages of a bundle, and runs them."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "reports" / "bench")]


@dataclass(frozen=True)
class Done:
    """Result of a command. `status` is None if it timed out."""

    status: int | None
    output: str
    seconds: float

    @property
    def last_line(self) -> str:
        return next((line for line in reversed(self.output.splitlines()) if line.strip()), "no output")

    def require(self, what: str) -> str:
        """Returns the output if the command succeeded. Otherwise raises RuntimeError with the exit code and the last line."""
        if self.status != 0:
            how = f"no end after {self.seconds:.0f} s" if self.status is None else f"exit code {self.status}"
            raise RuntimeError(f"{what}: {how}: {self.last_line}")
        return self.output


@dataclass(frozen=True)
class Place:
    """A folder with bin/, lib/, tests/ and site/, and folders whose libraries replace those of torch's wheels."""

    build: Path
    libraries: tuple[Path, ...] = ()
    rehearse: bool = False  # on the emulated card: small sizes, and PyTorch's own kernels do nothing

    def environment(self) -> dict[str, str]:
        libraries = [*map(str, self.libraries), *map(str, wheel_libraries())]
        before = [word for word in [os.environ.get("LD_LIBRARY_PATH")] if word]
        # torch finds its wheels' libraries by itself. Replacements must be loaded earlier.
        preloaded = [str(folder / name) for folder in self.libraries for name in ("libcudart.so.13", "libcudnn.so.9", "libcublasLt.so.13")]
        return os.environ | {"LD_LIBRARY_PATH": os.pathsep.join(libraries + before), "LD_PRELOAD": ":".join(preloaded),
                             "PYTHONPATH": os.pathsep.join([str(self.build / "site"), str(ROOT / "reports" / "bench")])}

    def work_folder(self) -> Path:
        """Folder for the check's own files, shared by all parts."""
        folder = self.build / "work"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def program(self, name: str) -> str:
        return str(self.build / "bin" / name)

    def run(self, command: list[str], seconds: float, **environment: str) -> Done:
        """Runs a command in its own process group. Kills the whole group on timeout."""
        begun = time.monotonic()
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, process_group=0, cwd=ROOT,
                                 env=self.environment() | environment)
        try:
            output, _ = child.communicate(timeout=max(seconds, 0.1))
            status: int | None = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            output, _ = child.communicate()
            status = None
        return Done(status, output.decode(errors="replace"), time.monotonic() - begun)


def torch_folder() -> Path:
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("this python3 has no torch")
    return Path(found.submodule_search_locations[0])


def wheel_libraries() -> list[Path]:
    """Library folders of torch's wheel and of the wheels that it depends on."""
    torch = torch_folder()
    return [torch / "lib", *sorted(folder for folder in (torch.parent / "nvidia").glob("*/lib") if folder.is_dir())]
