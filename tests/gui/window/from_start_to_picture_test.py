#!/usr/bin/env python3
"""The program in a window of its own, driven by keys and a mouse, from its start to a decoded picture.

    python3 tests/gui/window/from_start_to_picture_test.py --bin build/bin [--pictures FOLDER]

Runs headroom-gui under Xvfb with a window manager, all by xdotool: a plan is made on the page Frontier and used, the page
Plan says what can be done with it, and Run decodes a latent of the demo's model by it. `--pictures` keeps the screen after
each step. Without Xvfb, xdotool or openbox it says so and is skipped.
"""

import argparse
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
MODEL = ROOT / "tests/data/demo_model"
LATENT = ROOT / "tests/data/latents/photo_512x512.safetensors"
PATIENCE_SECONDS = 120
WIDTH, HEIGHT = 1280, 800


class Screen:
    """A screen of Xvfb, whose pixels are in a file in the format of xwd."""

    def __init__(self, folder):
        self.file = folder / "Xvfb_screen0"
        reading, writing = os.pipe()
        self.server = subprocess.Popen(["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{WIDTH}x{HEIGHT}x24", "-fbdir", str(folder),
                                        "-nolisten", "tcp", "-noreset"], pass_fds=[writing], stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading) as number:
            self.display = ":" + number.readline().strip()

    def rows(self):
        """Rows of pixels, each pixel as bytes B, G, R, X."""
        data = self.file.read_bytes()
        header = struct.unpack(">25I", data[:100])
        stride, start = header[12], header[0] + 12 * header[19]
        return [data[start + y * stride:start + y * stride + 4 * WIDTH] for y in range(HEIGHT)]

    def save(self, file):
        def chunk(kind, body):
            return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        lines = []
        for row in self.rows():
            rgb = bytearray(3 * WIDTH)
            rgb[0::3], rgb[1::3], rgb[2::3] = row[2::4], row[1::4], row[0::4]
            lines.append(b"\0" + bytes(rgb))
        file.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)) +
                         chunk(b"IDAT", zlib.compress(b"".join(lines))) + chunk(b"IEND", b""))

    def colours(self, left, top, right, bottom):
        """How many colours there are in this part of the screen."""
        pixels = set()
        for row in self.rows()[top:bottom]:
            pixels.update(row[4 * x:4 * x + 3] for x in range(left, right))
        return len(pixels)


class Session:
    """The program in its window."""

    def __init__(self, screen, program, folder, pictures):
        self.screen, self.pictures, self.steps = screen, pictures, 0
        self.environment = dict(os.environ, DISPLAY=screen.display, QT_QPA_PLATFORM="xcb", HOME=str(folder), TMPDIR=str(folder),
                                XDG_CONFIG_HOME=str(folder / "config"), LANG="C.UTF-8", LC_ALL="C.UTF-8")
        self.environment.pop("WAYLAND_DISPLAY", None)
        self.manager = subprocess.Popen(["openbox"], env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(PATIENCE_SECONDS):  # a window that comes before its manager may never be shown
            if self.xdotool("get_num_desktops"):
                break
            time.sleep(1)
        self.program = subprocess.Popen([program, "--language", "en", "--size", f"{WIDTH - 20}x{HEIGHT - 40}"],
                                        env=self.environment, cwd=folder)

    def xdotool(self, *words):
        try:
            done = subprocess.run(["xdotool", *words], env=self.environment, capture_output=True, text=True, check=False, timeout=20)
        except subprocess.TimeoutExpired:  # some of its commands wait for a window
            return ""
        return done.stdout.strip()

    def title(self):
        return self.xdotool("getactivewindow", "getwindowname")

    def keys(self, *keys):
        self.xdotool("key", "--delay", "30", *keys)

    def type(self, text):
        self.keys("ctrl+a")
        self.xdotool("type", "--delay", "4", str(text))

    def wait(self, what, holds, again=None):
        """Until it holds; `again` is done every second while it does not."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            if self.program.poll() is not None:
                fail(f"waiting for {what}: the program ended with {self.program.returncode}")
            if time.monotonic() > end:
                self.keep("failed")
                fail(f"waited in vain for {what}; the window is {self.title()!r}, all are {self.xdotool('search', '--name', '.*')!r}")
            time.sleep(0.2)
            if again is not None:
                again()
                time.sleep(0.8)
        self.keep(what)

    def keep(self, what):
        self.steps += 1
        if self.pictures:
            self.screen.save(self.pictures / f"{self.steps}-{what.replace(' ', '-')}.png")

    def close(self):
        for process in (self.program, self.manager):
            process.terminate()
            process.wait(timeout=20)


def fail(words):
    sys.exit("from_start_to_picture_test: " + words)


def walk(session, folder):
    output = folder / "picture.png"
    # A busy manager may show the window and not activate it. Then a click does, as a user's would.
    session.wait("the start page", lambda: session.title().startswith("Start"),
                 again=lambda: session.xdotool("search", "--onlyvisible", "--name", "^Start", "windowactivate"))
    session.keys("alt+p")  # Plan a decode
    session.wait("the page Frontier", lambda: session.title().startswith("Frontier"))

    def ask():
        session.keys("ctrl+3", "alt+m")
        session.type(MODEL)
        session.keys("Return", "alt+z")
        session.type(512)
        session.keys("Tab")
        session.type(512)
        session.keys("Return")
        time.sleep(3)  # what is typed is taken after a pause, and planned
        session.keep("the plan under the limit")
        session.keys("alt+u")  # Use this plan

    def used():
        return [file for file in folder.rglob("*.plan.json") if "512x512" in file.name and "demo_model" in file.name]
    session.wait("a plan that is used", lambda: used() and session.title().startswith("Plan"), again=ask)
    session.wait("what can be done with it", lambda: session.title().startswith("Plan"))
    session.keys("alt+u")  # Run it
    session.wait("the page Run", lambda: session.title().startswith("Run"))
    session.keys("alt+a")
    session.type(LATENT)
    session.keys("alt+o")
    session.type(output)
    empty = session.screen.colours(*PICTURE)
    session.keys("alt+s")
    session.wait("the decoded picture", output.is_file)
    session.wait("the picture in the window", lambda: session.screen.colours(*PICTURE) > 1000)
    if empty > 200:
        fail(f"the place of the picture had {empty} colours before it was decoded")
    for name in ("picture.stats.json", "picture.trace.json"):
        if not (folder / name).is_file():
            fail(f"{name} was not written")
    session.keys("ctrl+6")
    session.wait("the timeline of the run", lambda: session.title().startswith("Timeline"))


PICTURE = (700, 440, 1240, 640)  # on the page Run: a part of where the picture appears


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True, help="folder of the programs")
    parser.add_argument("--pictures", type=Path, help="keep the screen after each step in this folder")
    arguments = parser.parse_args()
    for tool in ("Xvfb", "xdotool", "openbox"):
        if shutil.which(tool) is None:
            print(f"skipped: no {tool} (packages-tests.txt)")
            return
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        screen = Screen(folder)
        try:
            session = Session(screen, str((arguments.bin / "headroom-gui").resolve()), folder, arguments.pictures)
            try:
                walk(session, folder)
            finally:
                session.close()
        finally:
            screen.server.terminate()
            screen.server.wait(timeout=20)
    print("from the start to the picture: done")


if __name__ == "__main__":
    main()
