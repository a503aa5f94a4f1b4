"""Part of the GPU check: programs from the bundle, where they start on this machine."""

import argparse
import importlib.util
import json
from pathlib import Path
from typing import Any

import binaries
import measure
from commands import ROOT, Commands, Entry, Failed, Stopped, has_package

DEMO_MODEL = ROOT / "tests" / "data" / "demo_model"
START_SECONDS = 60
REFUSED_BY_LOADER = ("cannot load", "error while loading shared libraries", "version `")
NO_DEVICE = 5


class DoesNotStart(Exception):
    """Why binaries do not serve this machine, in a line."""


def torch_folder() -> Path:
    found = importlib.util.find_spec("torch")
    if found is None or not found.submodule_search_locations:
        raise Failed("this python3 has no torch")
    return Path(found.submodule_search_locations[0])


def use_libraries(build: Path, commands: Commands) -> None:
    """Tells the loader where binaries that were unpacked find what they need; nothing for a build of sources."""
    about = binaries.description(build)
    if about is None:
        commands.libraries = []
        return
    own = [build / binaries.FALLBACK] if about.get("runtime") == "bundle" else []
    commands.libraries = own + binaries.wheel_libraries(torch_folder())


def require_match(about: dict[str, Any], card: dict[str, Any] | None) -> None:
    """That they are of these sources, for this card and this torch."""
    import importlib.metadata

    installed = importlib.metadata.version("torch").partition("+")[0] if has_package("torch") else "none"
    if about["sources"] != binaries.sources_id(ROOT):
        raise DoesNotStart("they are of other sources than this checkout")
    if about["torch"].partition("+")[0] != installed:
        raise DoesNotStart(f"they are for torch {about['torch']}, this python3 has {installed}")
    if card and not binaries.is_for(about["architecture"], card["compute_capability"]):
        raise DoesNotStart(f"their kernels are for {about['architecture']}, the card's compute capability is {card['compute_capability']}")


def run_first(commands: Commands, command: list[str]) -> str:
    """Output of a program that starts; raises where the loader refuses it, and where it fails at all."""
    status, out = commands.run(command, seconds=START_SECONDS)
    last = next((line for line in reversed(out.splitlines()) if line.strip()), "no message")
    if status is None and commands.left() == 0:
        raise Stopped("time was up")
    if status != 0:
        raise DoesNotStart(f"{Path(command[0]).name} {'took too long' if status is None else f'ended with {status}'}: {last[:200]}")
    return out


def start_all(args: argparse.Namespace, commands: Commands) -> None:
    """Programs say their version; a small plan is made."""
    for name in binaries.PROGRAMS:
        run_first(commands, [str(args.build / "bin" / name), "--version"])
    run_first(commands, [str(args.build / "bin" / "headroom-plan"), *first_plan(args), "-o", str(args.build / "check" / "first-plan.json")])


def first_plan(args: argparse.Namespace) -> list[str]:
    return ["--model", str(DEMO_MODEL), "--size", "256x256", "--limit", "1GiB", "--dtype", "fp32" if args.rehearse else "bf16",
            *measure.on_device("cpu" if args.rehearse else "cuda")]


def first_decode(args: argparse.Namespace, commands: Commands) -> str:
    """Loads the module, or says why it cannot be. What else goes wrong is for the tests to find."""
    latent = measure.write_random_latent(str(DEMO_MODEL), (256, 256), 0, args.build / "check" / "first.npy")
    command = [str(args.build / "bin" / "headroom-decode"), "--plan", str(args.build / "check" / "first-plan.json"), "--model", str(DEMO_MODEL),
               "--latent", str(latent), "-o", str(args.build / "check" / "first-run.npy"), "--quiet"]
    try:
        run_first(commands, command)
    except DoesNotStart as end:
        if any(word in str(end) for word in REFUSED_BY_LOADER):
            raise
        return f"; but {end}"
    return ""


def try_binaries(args: argparse.Namespace, commands: Commands, entry: Entry) -> str | None:
    """Unpacks and starts them. None where they serve; else why not, in a line."""
    if not (args.bundle / binaries.PACKED).exists():
        return "the bundle has none"
    about = binaries.unpack(args.bundle, args.build)
    entry["needs"] = about["needs"]
    reasons: dict[str, str] = {}
    try:
        require_match(about, measure.card())
        for runtime in ("machine", "bundle"):  # the C++ runtime of the machine first: its torch was made for that
            (args.build / binaries.DESCRIPTION).write_text(json.dumps(about | {"runtime": runtime}, indent=1) + "\n")
            use_libraries(args.build, commands)
            try:
                start_all(args, commands)
                entry["note"] = f"from the bundle, for {about['architecture']}, C++ runtime of the {runtime}{first_decode(args, commands)}"
                return None
            except DoesNotStart as end:
                reasons.setdefault(str(end), runtime)
    except DoesNotStart as end:
        reasons[str(end)] = "machine"
    binaries.remove(args.build)
    use_libraries(args.build, commands)
    return "; ".join(reasons)
