"""Starts ComfyUI with the node pack, and runs an example workflow through its API. Needs a clone that HEADROOM_COMFYUI names."""

from __future__ import annotations

import io
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

import torch

CLONE = os.environ.get("HEADROOM_COMFYUI")
PACK = pathlib.Path(__file__).parents[3] / "planner" / "python" / "comfyui"
STARTS_WITHIN = 300
"""Seconds. Only a server that hangs takes so long."""


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def prompt_of(workflow: dict, known: dict) -> dict:
    """The API's form of a workflow file, as ComfyUI's page makes it. `known` is the server's object_info."""
    links = {link[0]: [str(link[1]), link[2]] for link in workflow["links"]}
    prompt = {}
    for node in workflow["nodes"]:
        linked = {entry["name"]: links[entry["link"]] for entry in node["inputs"] if entry["link"] is not None}
        inputs, values = dict(linked), list(node["widgets_values"])
        accepted = known[node["type"]]["input"]
        for name, (kind, *options) in {**accepted.get("required", {}), **accepted.get("optional", {})}.items():
            if name not in linked and (isinstance(kind, list) or kind in ("INT", "FLOAT", "STRING", "BOOLEAN", "COMBO")):
                inputs[name] = values.pop(0)
                if options and (options[0].get("control_after_generate") or options[0].get("image_upload")):  # has a second widget
                    values.pop(0)
        if values:
            raise AssertionError(f"{node['type']}: more values than widgets: {values}")
        prompt[str(node["id"])] = {"class_type": node["type"], "inputs": inputs}
    return prompt


@unittest.skipUnless(CLONE, "HEADROOM_COMFYUI names no clone of ComfyUI: no server was started")
class Server(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        shutil.copytree(PACK, cls.base / "custom_nodes" / "headroom", ignore=shutil.ignore_patterns("__pycache__"))
        for folder in ("models/vae", "input", "output", "temp", "user"):
            (cls.base / folder).mkdir(parents=True)
        cls.write_files()
        cls.address = f"http://127.0.0.1:{(port := free_port())}"
        cls.log = (cls.base / "log.txt").open("w")
        cls.server = subprocess.Popen(
            [sys.executable, "main.py", "--cpu", "--base-directory", str(cls.base), "--port", str(port), "--disable-auto-launch",
             "--disable-api-nodes", "--database-url", "sqlite:///:memory:"],
            cwd=CLONE, stdout=cls.log, stderr=subprocess.STDOUT,
        )  # fmt: skip
        cls.addClassCleanup(cls.stop)
        started = time.monotonic()
        while True:
            try:
                cls.known = json.loads(cls.get("/object_info"))
                break
            except OSError:
                if cls.server.poll() is not None or time.monotonic() - started > STARTS_WITHIN:
                    raise AssertionError(f"ComfyUI did not start:\n{cls.log_end()}") from None
                time.sleep(0.5)
        if "HeadroomVAEDecode" not in cls.known:
            raise AssertionError(f"ComfyUI did not load the pack:\n{cls.log_end()}")

    @classmethod
    def log_end(cls) -> str:
        return (cls.base / "log.txt").read_text()[-4000:]

    @classmethod
    def stop(cls):
        cls.server.terminate()
        cls.server.wait()
        cls.log.close()

    @classmethod
    def write_files(cls):
        """The files of the examples, random weights of Stable Diffusion's VAE in their original names, and a picture."""
        import comfyui_stand_in
        import numpy
        from comfyui_families_test import FAMILIES, fill
        from PIL import Image
        from safetensors.torch import save_file

        comfyui_stand_in.install()
        import comfy.sd

        with torch.no_grad():
            vae = comfy.sd.VAE(sd=FAMILIES["Stable Diffusion"][0])
            fill(vae.first_stage_model, encoder=True)
        state = {name: tensor.half().contiguous() for name, tensor in vae.first_stage_model.state_dict().items()}
        save_file(state, cls.base / "models/vae/vae.safetensors")
        pixels = numpy.random.default_rng(0).integers(0, 256, (100, 132, 3), dtype=numpy.uint8)  # no latent has this height and width
        Image.fromarray(pixels).save(cls.base / "input/example.png")
        subprocess.run([sys.executable, PACK / "example_files.py", cls.base], check=True, stdout=subprocess.DEVNULL)

    @classmethod
    def get(cls, path: str, data: dict | None = None) -> bytes:
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(cls.address + path, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read()

    def run_prompt(self, prompt: dict) -> dict:
        """The outputs of a prompt by node."""
        number = json.loads(self.get("/prompt", {"prompt": prompt}))["prompt_id"]
        while True:
            history = json.loads(self.get(f"/history/{number}"))
            if number in history:
                self.assertEqual(history[number]["status"]["status_str"], "success", history[number]["status"])
                return history[number]["outputs"]
            time.sleep(0.2)

    def picture(self, outputs: dict) -> torch.Tensor:
        import numpy
        from PIL import Image

        (saved,) = next(found["images"] for found in outputs.values() if "images" in found)
        return torch.from_numpy(numpy.array(Image.open(io.BytesIO((self.base / "output" / saved["filename"]).read_bytes())))).int()

    def test_an_example_workflow_gives_the_picture_of_comfyuis_own_node(self):
        workflow = json.loads((PACK / "example_workflows/decode_saved_latent.json").read_text())
        prompt = prompt_of(workflow, self.known)
        outputs = self.run_prompt(prompt)
        texts = [found["text"][0] for found in outputs.values() if "text" in found]
        self.assertRegex(texts[0], r"on cpu in fp32, peak [0-9.]+ MiB \(predicted [0-9.]+ MiB\)")
        for node in prompt.values():
            if node["class_type"] == "HeadroomVAEDecode":
                node["class_type"], node["inputs"] = "VAEDecode", {name: node["inputs"][name] for name in ("samples", "vae")}
        prompt = {number: node for number, node in prompt.items() if node["class_type"] != "PreviewAny"}
        ours, theirs = self.picture(outputs), self.picture(self.run_prompt(prompt))
        self.assertEqual(ours.shape, (768, 1024, 3))
        self.assertGreater(float(theirs.float().std()), 10)
        self.assertLessEqual(int((ours - theirs).abs().max()), 1)

    def test_an_example_workflow_gives_the_latent_of_comfyuis_own_node(self):
        from safetensors.torch import load_file

        prompt = prompt_of(json.loads((PACK / "example_workflows/encode_picture.json").read_text()), self.known)
        next(node for node in prompt.values() if node["class_type"] == "VAELoader")["inputs"]["vae_name"] = "vae.safetensors"
        folder = self.base / "output/latents"
        texts = [found["text"][0] for found in self.run_prompt(prompt).values() if "text" in found]
        self.assertRegex(texts[0], r"on cpu in fp32, peak [0-9.]+ MiB \(predicted [0-9.]+ MiB\).*\n.*; cropped from 132×100 to 128×96 pixels")
        (first,) = folder.iterdir()
        ours = load_file(first)["latent_tensor"]
        first.unlink()
        for node in prompt.values():
            if node["class_type"] == "HeadroomVAEEncode":
                node["class_type"], node["inputs"] = "VAEEncode", {name: node["inputs"][name] for name in ("pixels", "vae")}
        self.run_prompt({number: node for number, node in prompt.items() if node["class_type"] != "PreviewAny"})
        (second,) = folder.iterdir()
        theirs = load_file(second)["latent_tensor"]
        self.assertEqual(ours.shape, (1, 4, 12, 16))
        self.assertGreater(float(theirs.float().std()), 0.01)
        self.assertLessEqual(float((ours - theirs).abs().max()), 1e-4 * float(theirs.abs().max()))

    def test_the_page_finds_nodes_help_and_workflows(self):
        for node in ("HeadroomVAEDecode", "HeadroomVAEEncode", "HeadroomVAEMemory"):
            self.assertEqual(self.known[node]["python_module"], "custom_nodes.headroom")
            self.assertIn(b"(Headroom)", self.get(f"/extensions/headroom/docs/{node}.md"))
        templates = json.loads(self.get("/workflow_templates"))["headroom"]
        self.assertEqual(sorted(templates), sorted(file.stem for file in (PACK / "example_workflows").glob("*.json")))
        for name in templates:
            self.assertTrue(prompt_of(json.loads(self.get(f"/api/workflow_templates/headroom/{name}.json")), self.known))


if __name__ == "__main__":
    unittest.main()
