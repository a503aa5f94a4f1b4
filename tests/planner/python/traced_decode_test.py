"""A process must work and exit normally after a traced decode, no matter what frees the packed weights."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

# Code after the traced decode. Each case runs in its own process, which then ends.
AFTERWARDS = {
    "the script ends": "",
    "the VAE is disabled": "headroom_vae.disable(vae)",
    "the handle is freed": "handle.free(); assert torch.equal(vae.decode(z).sample, first)",
    "the VAE goes": "del vae, handle; gc.collect()",
    "the weights change": "vae.decoder.conv_in.weight.mul_(2); assert not torch.equal(vae.decode(z).sample, first)",
    "another traced decode": "handle.trace(folder / 'second.json'); assert torch.equal(vae.decode(z).sample, first)",
}

SCRIPT = """
import gc, json, os, pathlib, sys
import headroom_vae, tiny, torch

afterwards, folder = json.loads(sys.argv[1]), pathlib.Path(sys.argv[2])
torch.set_grad_enabled(False)
status = {}
for name, code in afterwards.items():
    child = os.fork()
    if child == 0:
        vae = tiny.kl()
        handle = headroom_vae.enable(vae)
        z = torch.randn(1, 4, 8, 8, generator=torch.Generator().manual_seed(0))
        handle.trace(folder / "first.json")
        first = vae.decode(z).sample
        exec(code)
        break
    status[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
else:
    print(json.dumps(status))
"""


class TracedDecode(unittest.TestCase):
    def test_the_process_goes_on_and_ends(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-c", SCRIPT, json.dumps(AFTERWARDS), folder]
            done = subprocess.run(words, capture_output=True, text=True, timeout=600)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(json.loads(done.stdout), dict.fromkeys(AFTERWARDS, 0), done.stderr)
            # A later trace includes weights that were packed before it.
            weights = [_most_weights_bytes(pathlib.Path(folder, name)) for name in ("first.json", "second.json")]
        self.assertGreater(weights[0], 0)
        self.assertEqual(weights[0], weights[1])


def _most_weights_bytes(file: pathlib.Path) -> int:
    trace = json.loads(file.read_text())
    kind = trace["kinds"].index("weights")
    live = most = 0
    for event in trace["events"]:
        if event[1] == kind:
            live += event[5]
            most = max(most, live)
    return most


if __name__ == "__main__":
    unittest.main()
