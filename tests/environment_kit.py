"""A vendor made up for the tests: a wheel without dependencies, and a recipe for it."""

from __future__ import annotations

import sysconfig
import zipfile
from pathlib import Path

VENDOR = """
import os, subprocess, sys, time
from pmb_hf.providers.protocol import Hit, Option

print("tinyvendor is imported")  # must not be taken for the line that tells the address


class Tiny:
    version = "1.0"

    def __init__(self, mode="", note="", floor=0.5):
        self.options = {"mode": mode, "note": note, "floor": floor}
        self.store = {}
        self.searches = 0
        if mode == "refuses":
            from pmb_hf.errors import InputError
            raise InputError("option mode is 'refuses': give another.")
        if mode == "breaks":
            raise RuntimeError("the vendor is broken")
        if mode == "dies":
            print("about to die", file=sys.stderr, flush=True)
            os._exit(7)
        if mode == "hangs":
            time.sleep(600)
        if mode == "daemon":
            # As a database would: out of the process group, and nobody's child.
            command = [sys.executable, "-S", "-c", (
                "import os, sys, time, signal\\n"
                "signal.signal(signal.SIGTERM, signal.SIG_IGN)\\n"
                "if os.fork(): os._exit(0)\\n"
                "os.setsid()\\n"
                "if os.fork(): os._exit(0)\\n"
                "open(sys.argv[1], 'w').write(str(os.getpid()))\\n"
                "time.sleep(600)\\n"
            ), note]
            subprocess.run(command, check=True)
            while not (os.path.exists(note) and open(note).read()):
                time.sleep(0.01)

    def reset(self):
        self.store.clear()

    def add(self, *, belief_id, user_id, text, aliases, metadata):
        self.store[user_id, belief_id] = text

    update = add

    def search(self, *, query, user_id, scopes, limit):
        self.searches += 1
        if self.options["mode"] == "crashes" and self.searches > 5:
            print("out of memory, giving up", file=sys.stderr, flush=True)
            os.kill(os.getpid(), 9)
        if self.options["mode"] == "fails":
            raise ValueError("this query is too hard")
        asked = set(query.lower().split())
        found = [
            Hit(belief, float(len(asked & set(text.lower().split()))), text)
            for (user, belief), text in self.store.items()
            if user == user_id and asked & set(text.lower().split())
        ]
        return sorted(found, key=lambda hit: -hit.score)[:limit]


Tiny.provider_options = (
    Option("mode", str, "", "How it misbehaves."),
    Option("note", str, "", "A file."),
    Option("floor", float, 0.5, "A number."),
)
"""

METADATA = "Metadata-Version: 2.1\nName: tinyvendor\nVersion: {version}\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
ENTRY = "[pmb_hf.providers]\ntiny = tinyvendor:Tiny\n"


def make_wheel(folder: Path, version: str = "1.0") -> Path:
    """Write a wheel of the vendor into a folder that pip can find it in."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"tinyvendor-{version}.dist-info"
    files = {
        "tinyvendor.py": VENDOR.replace('version = "1.0"', f'version = "{version}"'),
        f"{info}/METADATA": METADATA.format(version=version),
        f"{info}/WHEEL": WHEEL,
        f"{info}/entry_points.txt": ENTRY,
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    path = folder / f"tinyvendor-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, content)
    return path


def write_recipe(folder: Path, requirement: str = "tinyvendor>=1,<2", extra: str = "") -> Path:
    """Write the recipe; its setup lets the environment see what serving needs, without pip."""
    folder.mkdir(parents=True, exist_ok=True)
    site = sysconfig.get_path("purelib")
    setup = (
        "import sysconfig, pathlib; "
        "pathlib.Path(sysconfig.get_path('purelib'), 'serving.pth')"
        f".write_text({site!r} + chr(10))"
    )
    path = folder / "tiny.toml"
    path.write_text(
        f'requirements = ["{requirement}"]\nnotes = "Made up."\nstart_timeout_s = 60\n'
        f'setup = [["-I", "-c", """{setup}"""]]\n{extra}',
        encoding="utf-8",
    )
    path.with_suffix(".lock").write_text(
        "# python 3.11 linux x86_64\ntinyvendor==1.0\n", encoding="utf-8"
    )
    return path
