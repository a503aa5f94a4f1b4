#!/usr/bin/env python3
"""Writes the source archive for pip, and the node pack as ComfyUI's registry takes it: a .tar.gz, and the folder comfyui zipped.

    build/wheel/venv/bin/python .ci/build_archive.py --out dist

Run it with the packages of requirements-wheel.txt; `make archive` does.
"""

import argparse
import os
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACK = "planner/python/comfyui"
sys.path.insert(0, str(ROOT / "cmake"))
import project_metadata  # noqa: E402


def pack_project(text: str) -> str:
    """The pack's pyproject.toml with the fields that need the repository's address, if it is decided."""
    if address := project_metadata.address():
        text = text.replace("[tool.comfy]", f'[project.urls]\nRepository = "{address}"\n\n[tool.comfy]\nIcon = "{address}/raw/HEAD/{PACK}/icon.svg"')
    return text


def build_pack(file: Path) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(path for path in (ROOT / PACK).rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            name = str(source.relative_to(ROOT / PACK))
            archive.writestr(name, pack_project(source.read_text()) if name == "pyproject.toml" else source.read_bytes())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    import scikit_build_core.build

    os.chdir(ROOT)
    archive = scikit_build_core.build.build_sdist(str(out))
    build_pack(out / f"headroom-comfyui-{project_metadata.version()}.zip")
    print(f"build_archive.py: {archive} and the pack for ComfyUI are in {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
