"""Images must be named by digest: a tag is moved at any time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .files import Finding, Text
from .pins import install_findings

COMPOSE = {"docker-compose.yml", "docker-compose.yaml", "compose.yml", "compose.yaml"}
_DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
_IMAGE = re.compile(r"\s*-?\s*[\"']?image[\"']?\s*:\s*[\"']?([^\s\"'#]*)")


def is_dockerfile(text: Text) -> bool:
    """Whether it tells how an image is built."""
    name = text.name.lower()
    return name == "dockerfile" or name.startswith("dockerfile.") or name.endswith(".dockerfile")


def image_findings(texts: Sequence[Text]) -> Iterator[Finding]:
    """Images without a digest, and what a Dockerfile installs without a version."""
    for text in texts:
        if is_dockerfile(text):
            yield from _dockerfile(text)
        elif text.name in COMPOSE:
            for number, line in text.numbered():
                match = _IMAGE.match(line)
                if match:
                    yield from _image(text, number, match.group(1))


def instructions(text: Text) -> Iterator[tuple[int, str]]:
    """A Dockerfile's instructions, continued lines joined, with their first lines' numbers."""
    start, joined = 0, ""
    for number, line in text.numbered():
        if line.lstrip().startswith("#") or not (line.strip() or joined):
            continue
        start = start or number
        joined += line.strip().removesuffix("\\") + " "
        if not line.rstrip().endswith("\\"):
            yield start, joined.strip()
            start, joined = 0, ""
    if joined:
        yield start, joined.strip()


def _dockerfile(text: Text) -> Iterator[Finding]:
    stages: set[str] = set()
    for number, instruction in instructions(text):
        word, _, rest = instruction.partition(" ")
        if word.upper() == "FROM":
            words = [part for part in rest.split() if not part.startswith("--")]
            if words and words[0].lower() != "scratch" and words[0].lower() not in stages:
                yield from _image(text, number, words[0])
            if len(words) >= 3 and words[1].upper() == "AS":
                stages.add(words[2].lower())
        elif word.upper() == "RUN":
            yield from install_findings(text, number, rest)
        elif word.upper() == "COPY":
            source = re.search(r"--from=(\S+)", rest)
            if source and source.group(1).lower() not in stages and not source.group(1).isdigit():
                yield from _image(text, number, source.group(1))


def _image(text: Text, number: int, image: str) -> Iterator[Finding]:
    if not image or _DIGEST.search(image):
        return
    bare = image.partition("@")[0]
    how = f"`docker buildx imagetools inspect {bare}` tells it"
    if "$" in image:
        yield text.error(number, "digest", f"{image}: name the image itself, with its digest")
    else:
        yield text.error(
            number, "digest", f"{image}: a tag can be moved; write {bare}@sha256:… ({how})"
        )
