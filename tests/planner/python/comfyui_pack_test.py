"""Tests the node pack's folder as ComfyUI's registry and Manager read it."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest

from comfyui_support import NODES, nodes


class Pack(unittest.TestCase):
    FOLDER = NODES.parent

    def test_project_file(self):
        project = tomllib.loads((self.FOLDER / "pyproject.toml").read_text())
        self.assertRegex(project["project"]["name"], "^[a-z][a-z-]*$")
        self.assertTrue({"PublisherId", "DisplayName", "requires-comfyui"} <= project["tool"]["comfy"].keys())
        version = re.search(r"project\(headroom VERSION ([0-9.]+)", (self.FOLDER.parents[2] / "CMakeLists.txt").read_text())[1]
        self.assertEqual(project["project"]["version"], version)
        self.assertEqual(project["project"]["dependencies"], (self.FOLDER / "requirements.txt").read_text().split())
        self.assertTrue((self.FOLDER / project["project"]["license"]["file"]).exists())
        for picture in re.findall(r"!\[[^]]*\]\(([^)]+)\)", (self.FOLDER / "README.md").read_text()):
            self.assertTrue((self.FOLDER / picture).exists(), picture)

    def test_every_node_has_a_help_page_of_its_inputs_and_outputs(self):
        module = nodes()
        for name, node in module.NODE_CLASS_MAPPINGS.items():
            page = (self.FOLDER / module.WEB_DIRECTORY / "docs" / f"{name}.md").read_text()
            self.assertIn(f"# {module.NODE_DISPLAY_NAME_MAPPINGS[name]}", page)
            inputs = [given for part in node.INPUT_TYPES().values() for given in part]
            for given in (*inputs, *node.RETURN_NAMES):
                self.assertIn(f"| `{given}` |", page)

    def test_example_files_are_those_that_workflows_name(self):
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([sys.executable, self.FOLDER / "example_files.py", folder], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stderr)
            latent, vae = (pathlib.Path(line) for line in run.stdout.splitlines())
            self.assertLess(latent.stat().st_size + vae.stat().st_size, 6 << 20)
        for name, named in (("decode_saved_latent", {latent.name, vae.name}), ("encode_picture", {vae.name})):
            workflow = json.loads((self.FOLDER / f"example_workflows/{name}.json").read_text())
            values = {str(value) for node in workflow["nodes"] for value in node["widgets_values"]}
            self.assertLessEqual(named, values)
            self.assertEqual({value for value in values if value.endswith((".latent", ".safetensors"))}, named)

    def test_example_workflows_fit_the_nodes(self):
        known, used = nodes().NODE_CLASS_MAPPINGS, set()
        for file in (self.FOLDER / "example_workflows").glob("*.json"):
            workflow = json.loads(file.read_text())
            types = {node["id"]: node["type"] for node in workflow["nodes"]}
            used |= set(types.values())
            for node in workflow["nodes"]:
                if node["type"] in known:
                    cls = known[node["type"]]
                    accepted = {name: kind for part in cls.INPUT_TYPES().values() for name, (kind, _) in part.items()}
                    linked = {entry["name"]: entry["type"] for entry in node["inputs"]}
                    self.assertEqual(linked, {name: kind for name, kind in accepted.items() if name in linked})
                    self.assertEqual(len(node["widgets_values"]), len(accepted) - len(linked), file.name)
                    self.assertEqual([entry["name"] for entry in node["outputs"]], list(cls.RETURN_NAMES))
        self.assertTrue(known.keys() <= used)

    def test_without_the_package_one_line_says_what_to_install(self):
        code = f"import sys, runpy; sys.modules['headroom_vae'] = None; runpy.run_path({str(NODES)!r}, run_name='headroom_nodes')"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual(run.returncode, 0)
        self.assertRegex(run.stderr, "^Headroom's nodes need the package headroom-vae.* --no-index --find-links CLONE/dist headroom-vae\n$")


if __name__ == "__main__":
    unittest.main()
