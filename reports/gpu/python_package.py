"""Part `python`: the wheel on this machine. Checks headroom_vae.enable() on a VAE on the card: pixels, peaks, seconds and offloading."""

import cProfile
import importlib.metadata
import pstats
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import headroom_vae
import torch
from accelerate import cpu_offload_with_hook
from diffusers.hooks import apply_group_offloading
from diffusers.image_processor import VaeImageProcessor

from cases import Case, measured
from diffusers_side import Diffusers, psnr_db
from place import Place
from report import Report

REPEATS = 5
STEP_DECODES, STEPS = 10, 8  # decodes under Python's profiler, and the functions to show
MOST_LOSS_DB = 1.0  # allowed PSNR loss in bf16 against diffusers' own bf16 decode
CARD = "cuda"


@dataclass(frozen=True)
class Scene:
    """A latent, its fp32 picture, and the PSNR of diffusers' bf16 decode against that picture."""

    report: Report
    theirs: Diffusers
    latent: torch.Tensor
    reference: torch.Tensor
    theirs_db: float
    model: str
    rehearse: bool

    @property
    def repeats(self) -> int:
        return 1 if self.rehearse else REPEATS

    @property
    def latent_on_card(self) -> torch.Tensor:
        return self.latent.cpu().bfloat16().to(CARD)

    def vae(self) -> Any:
        return self.theirs.vae(self.model, "bf16").to(CARD)

    def decode(self, name: str, vae: Any, latent: torch.Tensor, repeats: int, limit: str = "4GiB") -> None:
        """Reports a row for decodes by an enabled VAE, through its public interface."""
        handle = headroom_vae.enable(vae, limit=limit)
        held, device = torch.cuda.memory_allocated(), next(vae.parameters()).device
        timing = self.theirs.timed(lambda: vae.decode(latent, return_dict=False)[0], repeats)
        db, last = psnr_db(timing.picture, self.reference), handle.last
        where = str(timing.picture.device)
        timing.picture = None
        stayed = next(vae.parameters()).device == device  # False if offload hooks moved the weights to the card
        held = torch.cuda.memory_allocated() - held if stayed else 0
        self.report.row(name, timing, timing.peaks, f"{db:.1f} dB on {where}", f"predicted {last.predicted_peak_bytes >> 20} MiB, took {last.peak_bytes >> 20}",
                        ok=db >= self.theirs_db - MOST_LOSS_DB and held <= 0)
        self.report.log(f"{name}: {last}; {last.seconds:.4f} s of them decoding, {last.planning_seconds:.4f} planning; {held} bytes more held after it; "
                        f"driver has {torch.cuda.mem_get_info()[0] >> 20} MiB free")
        headroom_vae.disable(vae)


def on_card(scene: Scene) -> None:
    vae, latent = scene.vae(), scene.latent_on_card
    for name, given, limit, repeats in (("limit auto", latent, "auto", scene.repeats), ("limit 600MiB", latent, "600MiB", scene.repeats),
                                        ("latent on the CPU", latent.cpu(), "4GiB", 1)):
        scene.report.step(name, lambda: scene.decode(f"enable, {name}", vae, given, repeats, limit), 6)
    for limit, given in (("auto", latent), ("4GiB", latent), ("4GiB", latent.cpu())):
        scene.report.step("by step", lambda: by_step(scene, vae, given, limit), 6)
    scene.report.step("the caller's own stream", lambda: on_a_stream(scene, vae, latent), 6)
    scene.report.step("too small a limit", lambda: refused(scene, vae, latent), 6)


def by_step(scene: Scene, vae: Any, latent: torch.Tensor, limit: str) -> None:
    """Seconds of an enabled VAE's decode by step: the decode, planning, and the functions that take longest by themselves."""
    handle = headroom_vae.enable(vae, limit=limit)
    decode = lambda: vae.decode(latent, return_dict=False)[0]  # noqa: E731
    whole = 1e3 * scene.theirs.timed(decode, scene.repeats).median  # without the profiler, and after the first decode
    profile, decodes = cProfile.Profile(), 1 if scene.rehearse else STEP_DECODES
    profile.enable()
    for _ in range(decodes):
        decode()
    profile.disable()
    last = handle.last
    scene.report.row(f"by step, limit {limit}, latent on {latent.device}", f"{whole:.1f} ms, of them decoding {1e3 * last.seconds:.1f}, planning {1e3 * last.planning_seconds:.1f}")
    own = sorted(pstats.Stats(profile).stats.items(), key=lambda item: -item[1][2])
    for (file, _, function), (_, calls, seconds, _, _) in own[:STEPS]:
        scene.report.row(f"  {Path(file).stem}: {function}"[:70], f"{1e3 * seconds / decodes:.2f} ms, {calls / decodes:g} calls")
    headroom_vae.disable(vae)


def on_a_stream(scene: Scene, vae: Any, latent: torch.Tensor) -> None:
    """Checks stream order. The decode reuses memory that queued work on the caller's stream still needs, so it must wait."""
    with torch.cuda.stream(torch.cuda.Stream()):
        scratch = torch.ones(256 << 20, device=CARD)
        for _ in range(50):
            scratch.mul_(1.0001)
        del scratch
        scene.decode("enable, the caller's own stream", vae, latent, 0)


def refused(scene: Scene, vae: Any, latent: torch.Tensor) -> None:
    headroom_vae.enable(vae, limit="4MiB")
    try:
        vae.decode(latent)
        scene.report.row("limit 4MiB", "decoded", ok=False)
    except headroom_vae.DoesNotFit as misfit:
        scene.report.row("limit 4MiB", f"DoesNotFit: {str(misfit)[:120]}")
    headroom_vae.disable(vae)


def offloaded(scene: Scene) -> None:
    """Decodes by a VAE under accelerate's model offload and diffusers' group offload."""
    def model_offload(vae: Any) -> None:
        cpu_offload_with_hook(vae, execution_device=CARD)

    def group_offload(vae: Any) -> None:
        apply_group_offloading(vae, onload_device=torch.device(CARD), offload_device=torch.device("cpu"), offload_type="leaf_level", use_stream=True)

    def in_state(name: str, offload: Callable[[Any], None]) -> None:
        vae = scene.vae().to("cpu")
        offload(vae)
        scene.decode(name, vae, scene.latent_on_card, 1)

    for name, offload in {"model offload": model_offload, "group offload": group_offload}.items():
        scene.report.step(name, lambda: in_state(name, offload), 8)


def checks(scene: Scene) -> None:
    """Time of a 512² decode's checks for changed modules and parameter values."""
    vae, latent = scene.vae(), scene.latent_on_card[..., :64, :64]
    handle = headroom_vae.enable(vae, limit="4GiB")
    decode = 1e3 * scene.theirs.timed(lambda: vae.decode(latent, return_dict=False)[0], scene.repeats).median
    decoder, parameters = handle.decoder, handle.decoder._unchanged_parameters()
    on_card = decoder._decoder("cuda:0", decoder.model)
    memory = [(tensor.data_ptr(), tensor.nbytes) for tensor in vae.decoder.parameters()]

    def milliseconds(work: Callable[[], Any]) -> float:
        return 1e3 * scene.theirs.timed(work, 50).median

    modules = milliseconds(lambda: decoder._guard.require(vae))
    values = milliseconds(lambda: parameters.fingerprint("cuda:0", on_card.checksums))
    sums = milliseconds(lambda: on_card.checksums(memory))
    scene.report.row("checks of a decode of 512²", f"modules {modules:.2f} ms, values {values:.2f} ms, {sums:.2f} of them checksums on the card",
                     f"{100 * (modules + values) / decode:.1f} % of {decode:.1f} ms")
    headroom_vae.disable(vae)


def as_picture(scene: Scene) -> None:
    """diffusers' own image processor behind an enabled VAE, as a pipeline calls it."""
    vae, latent = scene.vae(), scene.latent_on_card
    theirs = vae.decode(latent, return_dict=False)[0]
    headroom_vae.enable(vae)
    ours = vae.decode(latent, return_dict=False)[0]
    a, b = (VaeImageProcessor(vae_scale_factor=8).postprocess(each, output_type="np") for each in (theirs, ours))
    scene.report.row("8-bit picture", f"{255 * abs(a - b).max():.1f} of 255 at most, {255 * abs(a - b).mean():.3f} on average")


def main(report: Report, where: Place) -> None:
    report.row("package", f"headroom {headroom_vae.__version__}, diffusers {importlib.metadata.version('diffusers')}")
    theirs = Diffusers(where.rehearse)
    case = measured(True)[0] if where.rehearse else Case("sdxl", (1024, 1024))
    latent = theirs.latent(case.model, case.size, where.work_folder() / "python.npy")
    reference = theirs.decode(theirs.vae(case.model), latent, 0).picture
    timing = theirs.decode(theirs.vae(case.model, "bf16"), latent, 1 if where.rehearse else REPEATS)
    scene = Scene(report, theirs, latent, reference, psnr_db(timing.picture, reference), case.model, where.rehearse)
    report.row("diffusers", timing, timing.peaks, f"{scene.theirs_db:.1f} dB")
    timing.picture = None
    on_card(scene)
    report.step("checks", lambda: checks(scene), 5)
    offloaded(scene)
    if not where.rehearse:
        report.step("8-bit picture", lambda: as_picture(scene), 5)
