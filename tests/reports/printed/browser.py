"""A browser without a window, for tests of pages: Chromium over its debugging pipe."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


def find_chromium():
    """The program's path; None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One page at a time. Sizes are in CSS pixels, of paper in millimetres."""

    def __init__(self, program):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # It reads from descriptor 3 and writes to 4.
        command = 'exec "$0" "$@" 3<&%d 4>&%d' % (to_browser, from_browser)
        self._process = subprocess.Popen(
            ["bash", "-c", command, program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._number, self._session, self._read = 0, None, b""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self._out)
        self._process.terminate()
        self._process.wait()
        os.close(self._in)
        self._profile.cleanup()

    def _message(self):
        while b"\0" not in self._read:
            more = os.read(self._in, 1 << 20)
            if not more:
                raise RuntimeError("the browser ended")
            self._read += more
        text, self._read = self._read.split(b"\0", 1)
        return json.loads(text)

    def _call(self, method, **params):
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        rest = json.dumps(message).encode() + b"\0"
        while rest:
            rest = rest[os.write(self._out, rest):]
        while True:
            answer = self._message()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def evaluate(self, expression):
        """The value of a JavaScript expression in the page."""
        result = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']['text']}")
        return result["result"].get("value")

    def show(self, file, width, height=900, dark=False, phone=False):
        """Opens a file in a window of this size. A phone hides its own scrollbars until something is scrolled."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self._call("Emulation.setEmulatedMedia", media="",
                   features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self._call("Page.navigate", url=f"file://{os.path.abspath(file)}")
        until = time.monotonic() + 240
        while not self.evaluate(f"document.readyState === 'complete' && location.protocol === 'file:'"):
            if time.monotonic() > until:
                raise RuntimeError(f"{file} is not shown")
            time.sleep(0.02)

    def picture(self):
        """The whole page as PNG."""
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        return base64.b64decode(self._call(
            "Page.captureScreenshot", captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": width, "height": height, "scale": 1})["data"])

    def lay_out_for_print(self, paper_mm):
        """Lays the page out as in print, but without page breaks, so that it can be measured."""
        self._call("Emulation.setEmulatedMedia", media="print", features=[])
        self._call("Emulation.setDeviceMetricsOverride", width=round((paper_mm[0] - 28) / 25.4 * 96), height=900,
                   deviceScaleFactor=1, mobile=False)

    def printed(self, paper_mm):
        """The page as PDF."""
        self._call("Emulation.setEmulatedMedia", media="", features=[])
        return base64.b64decode(self._call(
            "Page.printToPDF", printBackground=True, preferCSSPageSize=False,
            paperWidth=paper_mm[0] / 25.4, paperHeight=paper_mm[1] / 25.4)["data"])
