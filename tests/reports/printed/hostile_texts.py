"""Documents whose texts are markup, as far as headroom-report opens them so."""

import json
import pickle
import re
import subprocess
from pathlib import Path

IMAGE = "\"onload=\"document.title='x'\"<img src=x onerror=document.title='x'>"
NAME = IMAGE + "<script>document.title='x'<script>"  # of a file, so without a slash
TEXT = "</script></title>" + IMAGE + "<a href='http://127.0.0.1:9/'><link rel=stylesheet href=//127.0.0.1:9/><script>document.title='x'</script>"

ROOT = Path(__file__).resolve().parents[3]


def with_texts(value, spared, at=""):
    """A document with TEXT at the end of each text, but for those at and below the places in `spared`: `passes[].name`."""
    if at in spared:
        return value
    if isinstance(value, dict):
        return {key: with_texts(inner, spared, f"{at}.{key}" if at else key) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_texts(inner, spared, at + "[]") for inner in value]
    return value + TEXT if isinstance(value, str) else value


def opened(program, file, output):
    """What headroom-report says where it refuses a file, else nothing."""
    done = subprocess.run([program, file, "--quick", "--title", TEXT, "-o", output, "--progress", "none"], capture_output=True, text=True,
                          check=False, cwd=ROOT)  # where the model of the tour's plans is found
    return done.stderr if done.returncode else ""


def hostile_page(program, source, folder):
    """A page of a document of Headroom whose every free text is markup. A text that the reader refuses, such as a dtype, stays as it was."""
    document, spared = json.loads(source.read_text()), {"schema"}
    file, output = folder / (NAME + source.name), folder / (source.stem + ".html")
    while True:
        file.write_text(json.dumps(with_texts(document, spared)))
        said = opened(program, file, output)
        if not said:
            return output
        place = re.search(re.escape(source.name) + r": ([\w.\[\]]+): ", said)
        pattern = re.sub(r"\[\d+\]", "[]", place[1]) if place else "request.model" if "its model" in said else ""
        if not pattern or pattern in spared:
            raise AssertionError(f"refused, and no text is named: {said}")
        spared.add(pattern)


def hostile_snapshot(program, source, folder):
    """A page of a memory snapshot whose stacks are markup."""
    with source.open("rb") as pickled:
        snapshot = pickle.load(pickled)  # a file of the tests
    for frames in [record.get("frames", []) for trace in snapshot["device_traces"] for record in trace]:
        for frame in frames:
            for key in ("name", "filename"):
                if not frame[key].endswith(TEXT):
                    frame[key] += TEXT
    file, output = folder / (NAME + source.name), folder / (source.stem + ".html")
    file.write_bytes(pickle.dumps(snapshot))
    said = opened(program, file, output)
    assert not said, said
    return output
