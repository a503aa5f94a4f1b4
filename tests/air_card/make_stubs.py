"""Writes stubs for the functions of a real library that the air card does not have. PyTorch needs their names to load.

    make_stubs.py --like libcudnn.so.9 --status 3000 --out stubs.cpp cudnn_descriptors.cpp …
    make_stubs.py --asked-by libcaffe2_nvrtc.so --status 801 --out stubs.cpp driver.cpp
"""
import argparse
import re
import subprocess
from pathlib import Path

STUB = 'extern "C" __attribute__((visibility("default"))) int {name}() {{ return {status}; }}\n'


def functions(library, which, begin):
    listed = subprocess.run(["nm", "-D", which, str(library)], capture_output=True, text=True, check=True).stdout
    names = (line.split()[-1].split("@")[0] for line in listed.splitlines() if line.strip())
    return {name for name in names if re.fullmatch(begin + r"\w*", name)}


def implemented(sources):
    return {name for source in sources for name in re.findall(r"^AIR_API[^(]*?(\w+)\(", source.read_text(), re.MULTILINE)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--like", type=Path, help="library whose functions are wanted")
    parser.add_argument("--asked-by", type=Path, help="library that needs functions of the driver")
    parser.add_argument("--status", type=int, required=True, help="what stubs return: not supported")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("sources", type=Path, nargs="+", help="sources that implement functions")
    given = parser.parse_args()
    wanted = functions(given.like, "--defined-only", "_{0,2}cu") if given.like else functions(given.asked_by, "--undefined-only", "cu[A-Z]")
    missing = sorted(wanted - implemented(given.sources))
    given.out.write_text("".join(STUB.format(name=name, status=given.status) for name in missing))


if __name__ == "__main__":
    main()
