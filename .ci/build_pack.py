#!/usr/bin/env python3
"""Writes the node pack for ComfyUI to a folder, as ComfyUI's registry takes it: with the repository's address of CMakeLists.txt.

    python3 .ci/build_pack.py [--out dist/comfyui]
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACK = "planner/python/comfyui"
sys.path.insert(0, str(ROOT / "cmake"))
import project_metadata  # noqa: E402


def project_file(text: str) -> str:
    """pyproject.toml with the fields that need the address, which are left out while it is not decided."""
    if address := project_metadata.address():
        text = text.replace("[tool.comfy]", f'[project.urls]\nRepository = "{address}"\n\n[tool.comfy]\nIcon = "{address}/raw/HEAD/{PACK}/icon.svg"')
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "dist/comfyui")
    out = parser.parse_args().out
    shutil.rmtree(out, ignore_errors=True)
    for name in subprocess.run(["git", "ls-files", PACK], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split():
        file = out / Path(name).relative_to(PACK)
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, file)
    (out / "pyproject.toml").write_text(project_file((out / "pyproject.toml").read_text()))
    print(f"build_pack.py: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
