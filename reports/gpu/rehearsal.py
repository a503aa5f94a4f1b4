"""Lays out a build like a bundle, over an emulated GPU (the air card), for rehearsals without a GPU."""

import shutil
from pathlib import Path

from binaries import PROGRAMS


def lay_out(air_card: Path, folder: Path) -> None:
    """Recreates a folder with the files that run over the air card (`build/tests/air_card`)."""
    shutil.rmtree(folder, ignore_errors=True)
    build = air_card.resolve().parents[1]
    for name in ("bin", "lib", "tests"):
        (folder / name).mkdir(parents=True)
    for name in PROGRAMS:
        shutil.copy2(air_card / "modules" / name, folder / "bin" / name)
    shutil.copy2(air_card / "modules" / "headroom-cuda.so", folder / "lib")
    for test in sorted((build / "tests").glob("test_*on_gpu")):
        shutil.copy2(test, folder / "tests")
    package = folder / "site" / "headroom_vae"
    shutil.copytree(build / "python" / "headroom_vae", package)
    (package / "headroom-cuda-lent.so").unlink()
    shutil.copy2(air_card / "modules" / "headroom-cuda-lent.so", package)
