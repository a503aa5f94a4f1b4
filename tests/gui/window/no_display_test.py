"""Without a display that answers, headroom-gui ends with exit code 5 and one line that says what to do.

  python no_display_test.py --bin build/bin
"""
import argparse
import os
import subprocess
import sys
import unittest
from pathlib import Path

BIN = Path()


class NoDisplay(unittest.TestCase):
    def test_one_line(self):
        for display in ("", ":98765", "no.such.host.invalid:0"):
            with self.subTest(display=display):
                environment = {name: value for name, value in os.environ.items()
                               if name not in ("QT_QPA_PLATFORM", "WAYLAND_DISPLAY", "DISPLAY", "XDG_RUNTIME_DIR")}
                ended = subprocess.run([BIN / "headroom-gui"], env={**environment, "DISPLAY": display}, capture_output=True,
                                       text=True, timeout=240)
                self.assertEqual(ended.returncode, 5, ended.stderr)
                self.assertEqual(ended.stderr.count("\n"), 1, ended.stderr)
                self.assertIn("DISPLAY", ended.stderr)
                self.assertIn("--screenshot", ended.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=Path, required=True)
    arguments, rest = parser.parse_known_args()
    BIN = arguments.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest])
