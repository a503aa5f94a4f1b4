#!/usr/bin/env python3
"""Headroom on a GPU against diffusers there, on the same weights and latents, in turns.

    python reports/bench/gpu_decode.py --list
    python reports/bench/gpu_decode.py --programs build/gpu/bin --part sdxl-1024,sdxl-2048 -o reports/results/gpu-decode.json
    python reports/bench/gpu_decode.py --programs build/bin --rehearse -o /tmp/gpu-decode.json    # the same on the CPU, tiny

Every run is a fresh process. A run decodes once and then, where the part has repeats, again in the same process: the first decode
also loads kernels, the later ones tell what a program that stays pays. Headroom's first is one by `--plan`; its later ones, measured in the
first round, are one plan's repetitions in a queue. Seconds are those of the decode with its weights in place and the device idle at
both ends, and have the same ends for all: no file is in them. What Headroom's file took stands apart, as does what torch.compile took.

Peaks are bytes of the card: of diffusers what LibTorch's allocator handed out and what it reserved, of Headroom what its statistics
say; the card's own count (its driver's, the libraries' context with it) stands beside both. Errors are against diffusers untiled in fp32
on the same card; where that does not fit, the result names what stands in.

After every run the results are written, and a part that was cut off goes on with the run that it lacks; --again starts it anew. Ends
with 1 where a part is not done or something in it is not as expected: an error in fp32 above 1e-4 of the reference's magnitude, a PSNR in
16 bits below that of diffusers untiled, a peak above the limit, an engine that cuDNN compiled during the decode; of `tenants`, what
docs/gpu.md says.
"""

import argparse
import os
import tempfile
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import measure
import gpu_tenants
import queue_growth
from card_poll import CardPoll
from gpu_cases import AMPLE, CASES, QUEUE, QUEUE_LIMIT, QUEUE_REQUESTS, QUEUE_SIZES, TENANTS, Case, parts, rehearsed
from gpu_contenders import SEED, Contender, Place, brief, contenders, headroom_decode, model_and_seed
from gpu_figures import add_rows, markdown
from kept_parts import CUTS, Part, Session, Steps, begin
from measure import Run, decibels, mib
from tenant_figures import judge

POLL_PERIOD = 0.05  # seconds: the card's highest count alone is wanted


class DecodePart(Part):
    """A part whose rows follow from the rounds that are there."""

    def __init__(self, entry: dict[str, Any], dtype: str, session: Session):
        super().__init__(entry, session.clock, session.save)
        self.dtype = dtype

    def save(self) -> None:
        if self.entry["rounds"]:
            add_rows(self.entry, self.dtype)
        super().save()

    def is_reference(self, name: str) -> bool:
        return any(each["runs"].get(name, {}).get("is_reference") for each in self.entry["rounds"])


# A case ---------------------------------------------------------------------------------------------------------------

def shape_name(case: Case) -> str:
    return f"{case.model}-{case.size[0]}x{case.size[1]}-{case.frames}-{case.batch}"


def fp32_reference(place: Place, part: Part, case: Case, latent: Path) -> tuple[Path, str]:
    """diffusers untiled in fp32 on the device, or else Headroom in fp32 under an ample limit; and which."""
    file = place.work / f"{shape_name(case)}-fp32.npy"
    said = file.with_suffix(".txt")
    if said.exists():
        return file, said.read_text()
    model, seed = model_and_seed(place, case.model)
    where = "on the GPU" if place.device == "cuda" else "on the CPU"
    try:
        if part.was_cut_off("reference"):
            raise RuntimeError(f"cut off {CUTS} times")
        part.run("reference", lambda: measure.diffusers_decode(model, latent, file, seed, place.threads, device=place.device))
    except RuntimeError as error:
        measure.note(f"  no reference by diffusers: {error}")
        part.run("reference by Headroom", headroom_decode(place, case, "fp32", AMPLE, latent, file).first)
        return file, f"Headroom in fp32 {where} (diffusers untiled: {brief(error)})"  # not kept: it is this build's
    said.write_text(f"diffusers untiled in fp32 {where}")
    return file, said.read_text()


class Pictures:
    """What a case's runs write and what they are held against, which is kept until the part is done."""

    def __init__(self, scratch: Path, kept: Path):
        self.output, self.kept = scratch / "run.npy", kept
        self.reference: Path | None = None

    def errors(self, is_reference: bool) -> Run:
        """Of the output; where there is no reference yet, it becomes that."""
        if self.reference is None:
            self.reference = self.kept
            os.replace(self.output, self.kept)
            is_reference = True
        if is_reference:
            return {"largest_error": None, "largest_error_relative": None, "psnr_db": None, "is_reference": True}
        return measure.compare(np.load(self.output, mmap_mode="r"), np.load(self.reference, mmap_mode="r"))


def run_once(place: Place, part: DecodePart, name: str, contender: Contender | str, pictures: Pictures, first_round: bool) -> Run:
    """One run with its errors, or what went wrong as `error`."""
    if isinstance(contender, str):
        return {"error": contender}
    if part.was_cut_off(name):
        return {"error": f"cut off {CUTS} times while it ran"}
    try:
        with CardPoll(POLL_PERIOD) if first_round and place.device == "cuda" else nullcontext() as poll:
            run = part.run(name, contender.first)
        run["card_growth_bytes"] = int(poll.polls.bytes.max()) if poll and poll.polls else None
        run.setdefault("first_seconds", run["seconds"])
        run |= pictures.errors(part.is_reference(name))
        return run
    except (RuntimeError, KeyError, ValueError) as error:
        return {"error": brief(error)}


def run_again(part: DecodePart, name: str, contender: Contender | str, run: Run) -> None:
    """Adds the seconds of later decodes to the first round's run, where they can be measured and are not there yet."""
    lacking = "error" not in run and "again_seconds" not in run and "again_error" not in run
    if isinstance(contender, str) or not contender.again or not lacking:
        return
    again = f"{name}, again"
    try:
        run |= {"again_error": "cut off"} if part.was_cut_off(again) else {"again_seconds": part.run(again, contender.again)}
    except (RuntimeError, KeyError) as error:
        run["again_error"] = brief(error)


def run_rounds(place: Place, part: DecodePart, rounds: int, runs: dict[str, Contender | str], pictures: Pictures) -> None:
    """Those that are not there yet. What went wrong in the first round is not tried again."""
    for number in range(rounds):
        if len(part.entry["rounds"]) == number:
            part.entry["rounds"].append({"runs": {}})
        done = part.entry["rounds"][number]["runs"]
        for name, contender in runs.items():
            if name not in done:
                if number and "error" in part.entry["rounds"][0]["runs"].get(name, {}):
                    continue
                done[name] = run_once(place, part, name, contender, pictures, number == 0)
                part.save()
                measure.note(f"  {number + 1}/{rounds} {name}: {in_short(done[name])}")
            if number == 0:
                run_again(part, name, contender, done[name])
                part.save()


def in_short(run: Run) -> str:
    if "error" in run:
        return run["error"]
    compared = "reference" if run.get("is_reference") else f"PSNR {decibels(run['psnr_db'])}"
    return f"{run['first_seconds']:.2f} s, peak {mib(run['peak_bytes'])}, {compared}"


def add_yardsticks(place: Place, part: DecodePart, dtype: str, parts_before: dict[str, Any]) -> None:
    """The rate of LibTorch's convolutions in that dtype and of the link: of this part, or of one before it on the same card."""
    entry = part.entry
    known = [each for each in parts_before.values() if each["card"] == entry["card"] and "link" in each]
    if "convolution_rate" not in entry:
        rate = next((each["convolution_rate"] for each in known if each.get("dtype") == dtype), None)
        entry["dtype"] = dtype
        entry["convolution_rate"] = rate or part.run("rate", lambda: measure.convolution_rate(place.threads, dtype, place.device))
    if "link" not in entry:
        entry["link"] = known[0]["link"] if known else part.run("link", lambda: measure.link_rate(place.device))


def run_case(place: Place, part: DecodePart, name: str, case: Case, dtype: str, parts_before: dict[str, Any]) -> None:
    entry = part.entry
    with tempfile.TemporaryDirectory(dir=place.work) as folder:
        scratch = Path(folder)
        latent = measure.write_random_latent(case.model, case.size, SEED, scratch / "latent.npy", case.batch, case.frames)
        pictures = Pictures(scratch, place.work / f"{name}.npy")
        if case.reference == "diffusers":
            pictures.reference, entry["reference"] = fp32_reference(place, part, case, latent)
        else:
            entry["reference"] = f"the first of Headroom's plans in {dtype}"
            if pictures.kept.exists() and any(map(part.is_reference, entry["plans"])):
                pictures.reference = pictures.kept
            else:
                entry["rounds"] = []
        runs = contenders(place, case, dtype, latent, pictures.output)
        entry["plans"] = {each: run.plan for each, run in runs.items() if isinstance(run, Contender) and run.plan}
        run_rounds(place, part, case.rounds, runs, pictures)
        add_yardsticks(place, part, dtype, parts_before)  # after what tells more, if time is short
    pictures.kept.unlink(missing_ok=True)


# The queue ------------------------------------------------------------------------------------------------------------

def run_queue(place: Place, part: DecodePart, rehearse: bool) -> None:
    """Changing sizes as they arrive through LibTorch's caching allocator, and as a planned queue over one reservation."""
    model, seed = model_and_seed(place, "sdxl")
    args = argparse.Namespace(
        model=model, random_weights=seed, threads=place.threads, seed=1, device=place.device, programs=place.programs, profile=None,
        dtype="fp32" if rehearse else "fp16", sizes="64x64,128x64,64x128" if rehearse else QUEUE_SIZES,
        requests=5 if rehearse else QUEUE_REQUESTS, limit=measure.parse_bytes("1GiB" if rehearse else QUEUE_LIMIT))
    with tempfile.TemporaryDirectory(dir=place.work) as name:
        folder = Path(name)
        requests = queue_growth.mix(args, folder)
        file = queue_growth.write_requests(requests, folder)
        arrived = part.run("as it arrives", lambda: queue_growth.as_it_arrives(args, file))
        queue, stats = part.run("planned", lambda: queue_growth.planned(args, file, folder))
        first_of_each = list({decode["plan"]: decode for decode in reversed(queue["order"])}.values())
        equal = part.run("each by itself", lambda: queue_growth.equal_alone(args, queue, first_of_each, folder))
    for each, request in zip(arrived, requests):
        each["size"] = queue_growth.size_of(request)
    sizes = [queue_growth.size_of(request) for request in requests]
    part.entry.update(
        dtype=args.dtype, as_it_arrives=arrived, limit_bytes=args.limit, predicted_peak_bytes=queue["predicted"]["peak_bytes"],
        peak_bytes=stats["peak_bytes"], pool_bytes=queue["pool_bytes"], pool_allocations=stats["pool_allocations"],
        pool_growth_bytes=stats["pool_growth_bytes"],
        planned=[{**{key: each[key] for key in ("name", "seconds", "peak_bytes")}, "size": sizes[each["request"]]} for each in stats["decodes"]],
        equal_alone=equal, held_alone=len(first_of_each))
    part.entry["as_expected"] = (stats["peak_bytes"] <= args.limit and stats["pool_allocations"] == 1
                            and stats["pool_growth_bytes"] == 0 and equal == len(first_of_each))


# Others on the card ---------------------------------------------------------------------------------------------------

def run_tenants(session: Session, entry: dict[str, Any]) -> None:
    place, rehearse = session.place, session.args.rehearse
    case, dtype = gpu_tenants.tenants_case(rehearse)
    steps = Steps(entry, session.clock, session.save, gpu_tenants.SHORT_SECONDS)
    with tempfile.TemporaryDirectory(dir=place.work) as name:
        folder = Path(name)
        latent = measure.write_random_latent(case.model, case.size, SEED, folder / "latent.npy")
        reference, entry["reference"] = fp32_reference(place, steps, case, latent)
        gpu_tenants.measure_tenants(gpu_tenants.tenants_work(place, rehearse, folder, latent, reference), steps)
    entry["faults"] = judge(entry["steps"], dtype)
    entry["as_expected"] = not entry["faults"]


# The program ----------------------------------------------------------------------------------------------------------

def title_of(case: Case, dtype: str) -> str:
    extra = (f", {case.frames} frames" if case.frames > 1 else "") + (f", batch {case.batch}" if case.batch > 1 else "")
    return f"{case.model} {case.size[0]}×{case.size[1]}{extra}, {dtype}"


def run_part(session: Session, name: str) -> None:
    args = session.args
    rounds: dict[str, Any] = {"rounds": [], "plans": {}}
    if name == QUEUE:
        session.run_part(name, "Changing sizes, sdxl", rounds,
                         lambda entry: run_queue(session.place, DecodePart(entry, "", session), args.rehearse))
        return
    if name == TENANTS:
        title = title_of(*gpu_tenants.tenants_case(args.rehearse)) + ", on a card that others use too"
        session.run_part(name, title, {"steps": {}, "faults": [], "reference": "–"}, lambda entry: run_tenants(session, entry))
        return
    base, _, dtype = name.rpartition("-")
    case = CASES[base]
    if args.rehearse:
        case, dtype = rehearsed(case), "fp32"  # 16 bits take PyTorch minutes on a CPU

    def work(entry: dict[str, Any]) -> None:
        run_case(session.place, DecodePart(entry, dtype, session), name, replace(case, rounds=args.rounds or case.rounds), dtype,
                 session.results["parts"])

    session.run_part(name, title_of(case, dtype), rounds, work)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, help="instead of each part's own number")
    parser.add_argument("--repeats", type=int, help="later decodes in a process, instead of each part's own number")
    session = begin(parser, parts(), markdown)
    return session.run(lambda name: run_part(session, name)) if session else 0


if __name__ == "__main__":
    measure.run_main(main)
