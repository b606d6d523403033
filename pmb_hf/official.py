"""Upstream's own fixtures: fetched at one pinned commit, or taken from a local copy.

:func:`fetch` downloads them into the user's cache, :func:`import_from` copies them
there, both only with the right SHA-256. :func:`locate` says where they are.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .errors import CorpusError, FetchError, InputError, PmbError

if TYPE_CHECKING:
    import httpx


class FileInfo(NamedTuple):
    """What a file must be: its SHA-256 (hex) and its size in bytes."""

    sha256: str
    size: int


Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes that are here, and its size in bytes."""

REPOSITORY = "tenurehq/precisionMemBench"
COMMIT = "18c7955357b33098a64d601bc8e4624c41743972"
BASE_URL = f"https://raw.githubusercontent.com/{REPOSITORY}/{COMMIT}/fixtures"
FILES: Mapping[str, FileInfo] = {
    "beliefs.seed.json": FileInfo(
        "35659b3b9a581b644fc6746e1b4e902c3e7b56c0973b546bf7b0816a69e3de98", 33303
    ),
    "retrieval.cases.json": FileInfo(
        "09e99f0852280538abe34b03570f65583fdb10df3c554b7150f0f665d5db709c", 35940
    ),
    "session-retrieval.cases.json": FileInfo(
        "f24a359cdb2bf50237e1ab463af938cd54a81917f64c8d97304de318aed4cc1c", 37967
    ),
}
CACHE_ENV, URL_ENV = "PMB_HF_CACHE", "PMB_OFFICIAL_URL"
MAX_REDIRECTS, MAX_WAIT_S, LOCK_TIMEOUT_S = 5, 30.0, 600.0

_COPY = f"a copy of the fixtures directory of github.com/{REPOSITORY} at commit {COMMIT[:7]}"
_RUN = "pmb run --corpus official --fixtures DIR"
_OFFLINE = f"With no network, use {_COPY}: `pmb data fetch --from DIR` or `{_RUN}`."


class _TryAgainError(Exception):
    """A failure that may pass: a message, and the wait in seconds that was asked for or None."""


class _Job(NamedTuple):
    """One file to download. ``label`` says what and whence, without a password."""

    client: httpx.Client
    label: str
    path: Path
    part: Path
    want: FileInfo
    progress: Progress


def cache_root() -> Path:
    """Where this package keeps what can be had again: $PMB_HF_CACHE, else the user's cache."""
    from platformdirs import user_cache_dir

    root = os.environ.get(CACHE_ENV) or user_cache_dir("pmb-hf", appauthor=False)
    return Path(root).expanduser()


def fixtures_dir() -> Path:
    """The cache directory of the pinned commit; it need not exist."""
    return cache_root() / "official" / COMMIT


def installed(directory: Path | None = None, *, files: Mapping[str, FileInfo] = FILES) -> bool:
    """Whether all files are in ``directory`` (default: the cache) with the right hashes."""
    home = directory or fixtures_dir()
    return not any(_fault(home / name, want) for name, want in files.items())


def verify(directory: Path, *, files: Mapping[str, FileInfo] = FILES) -> None:
    """Raise CorpusError, with both hashes, if a file is missing or altered."""
    for name, want in files.items():
        if fault := _fault(directory / name, want):
            raise CorpusError(f"{fault} Use {_COPY}.")


def locate(fixtures: Path | None = None) -> Path:
    """The directory that holds the files: ``fixtures`` if given, else the cache.

    ``fixtures`` may be the directory itself or a checkout that has it. Its files need
    not be of the pinned commit; the cache must. Raises CorpusError that says what to do.
    """
    if fixtures is not None:
        return _with_files(fixtures, FILES)
    home = fixtures_dir()
    if not installed(home):
        advice = f"Run `pmb data fetch`. {_OFFLINE}"
        raise CorpusError(f"The official corpus is not in {home}, or was altered. {advice}")
    return home


def import_from(
    source_dir: Path, *, directory: Path | None = None, files: Mapping[str, FileInfo] = FILES
) -> Path:
    """Copy the files from ``source_dir``, which holds them or a ``fixtures`` that does.

    All are verified before the first is copied. Returns where they are now. Raises
    CorpusError, with both hashes, for a wrong file; FetchError if writing fails.
    """
    source, target = _with_files(source_dir, files), directory or fixtures_dir()
    verify(source, files=files)
    with _locked(target):
        for name in files:
            shutil.copyfile(source / name, target / f"{name}.part").replace(target / name)
    verify(target, files=files)
    return target


def fetch(
    *,
    directory: Path | None = None,
    base_url: str | None = None,
    retries: int = 3,
    timeout_s: float = 30.0,
    progress: Progress | None = None,
    force: bool = False,
    files: Mapping[str, FileInfo] = FILES,
    backoff_s: float = 0.5,
) -> Path:
    """Download the files that are missing or altered; with ``force``, all of them.

    ``base_url`` defaults to the environment variable ``PMB_OFFICIAL_URL``, else to
    the pinned commit on GitHub. ``timeout_s`` bounds each wait for the network. Each
    file is tried ``1 + retries`` times, with waits that grow from ``backoff_s``; partial
    files are continued. Returns the directory (default: the cache). Raises InputError
    for an option out of range, and FetchError, with both hashes for altered bytes.
    """
    if retries < 0 or not timeout_s > 0:
        raise InputError(f"retries={retries}, timeout_s={timeout_s}: need >= 0 and > 0.")
    target = directory or fixtures_dir()
    if not force and installed(target, files=files):
        return target
    base = base_url or os.environ.get(URL_ENV) or BASE_URL
    with _client(base, timeout_s) as client, _locked(target):
        for name, want in files.items():
            path, part = target / name, target / f"{name}.part"
            if force or _fault(path, want):
                label = f"{name} from {client.base_url.host}"
                job = _Job(client, label, path, part, want, progress or (lambda *_: None))
                _fetch_file(job, retries, backoff_s)
    return target


def _fetch_file(job: _Job, retries: int, backoff_s: float) -> None:
    for attempt in range(retries + 1):
        try:
            _download(job)
            break
        except _TryAgainError as problem:
            message, wait_s = problem.args
            if attempt == retries:
                text = f"Can't fetch {job.label}: {message} (tries: {retries + 1}). {_OFFLINE}"
                raise FetchError(text) from problem
            if wait_s is None:  # The jitter keeps clients from coming back all at once.
                wait_s = backoff_s * 2.0 ** min(attempt, 16) * random.uniform(0.5, 1.0)
            time.sleep(min(wait_s, MAX_WAIT_S))
    job.part.replace(job.path)


def _download(job: _Job) -> None:
    """Bring the partial file to its full size, and check it."""
    have = job.part.stat().st_size if job.part.exists() else 0
    start = have if have >= job.want.size else _transfer(job, have)
    if fault := _fault(job.part, job.want):
        job.part.unlink()
        if start == 0:
            raise FetchError(f"{job.label} is not what was published. {fault} {_OFFLINE}")
        _download(job)  # The older bytes may be at fault: ask for all of them.


def _transfer(job: _Job, have: int) -> int:
    """One request. Returns how many bytes of earlier requests are kept."""
    import httpx

    # A compressed body could not be continued, nor its size be bounded.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    try:
        with _opened(job, headers) as response:
            start = _start(job, response, have)
            if start is None:
                return have
            done = _store(job, response, start)
            framed = {"content-length", "transfer-encoding"} & set(response.headers)
    except httpx.TransportError as problem:
        raise _TryAgainError(f"{type(problem).__name__}: {problem}", None) from problem
    # A whole body that is too short is another file: its hash will tell.
    if done < job.want.size and (start or not framed):
        raise _TryAgainError(f"the body ended after {done} of {job.want.size} bytes", None)
    return start


@contextmanager
def _opened(job: _Job, headers: dict[str, str]) -> Iterator[httpx.Response]:
    """Send the request, following redirects that stay on the host."""
    request = job.client.build_request("GET", job.path.name, headers=headers)
    for _ in range(MAX_REDIRECTS + 1):
        response = job.client.send(request, stream=True)
        try:
            if response.next_request is None:
                yield response
                return
            old, request = request.url, response.next_request
            if request.url.host != old.host or request.url.scheme not in {old.scheme, "https"}:
                where = f"{request.url.scheme}://{request.url.host}, which is refused"
                raise FetchError(f"{job.label} redirects to {where}. {_OFFLINE}")
        finally:
            response.close()
    raise FetchError(f"{job.label} redirects more than {MAX_REDIRECTS} times. {_OFFLINE}")


def _start(job: _Job, response: httpx.Response, have: int) -> int | None:
    """Where this body belongs in the file; None if the partial file can't be continued."""
    status, header = response.status_code, response.headers.get
    if have and status in {206, 416}:
        span = header("Content-Range", "")
        fits = span.startswith(f"bytes {have}-") and span.endswith((f"/{job.want.size}", "/*"))
        return have if fits and status == 206 else None
    if status == 429 or status >= 500:
        after = header("Retry-After", "")  # A date in it is not read: our own waits do then.
        raise _TryAgainError(f"HTTP {status}", float(after) if after.isdecimal() else None)
    if status != 200:
        raise FetchError(f"{job.label}: HTTP {status} {response.reason_phrase}. {_OFFLINE}")
    return 0


def _store(job: _Job, response: httpx.Response, start: int) -> int:
    """Write the body to the partial file. Returns the file's size in bytes."""
    done, size = start, job.want.size
    with job.part.open("ab" if start else "wb") as out:
        for chunk in response.iter_raw():
            done += len(chunk)
            if done > size:
                break
            out.write(chunk)
            out.flush()  # What is here outlives a process that is killed.
            job.progress(job.path.name, done, size)
    if done > size:
        job.part.unlink()
        raise FetchError(f"{job.label}: longer than the {size} bytes it must have. {_OFFLINE}")
    return done


def _client(base: str, timeout_s: float) -> httpx.Client:
    import httpx

    try:
        client = httpx.Client(base_url=base, timeout=timeout_s, follow_redirects=False)
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as problem:
        raise FetchError(f"No HTTP: {problem}. Check {URL_ENV} and the proxy.") from problem
    if client.base_url.scheme not in {"http", "https"} or not client.base_url.host:
        raise FetchError(f"{URL_ENV}: {client.base_url!r} is not an http or https address.")
    return client


@contextmanager
def _locked(directory: Path) -> Iterator[None]:
    """Hold the directory for writing, so that one process at a time fills it."""
    from filelock import FileLock

    try:
        directory.mkdir(parents=True, exist_ok=True)
        with FileLock(directory / ".lock", timeout=LOCK_TIMEOUT_S):
            yield
    except PmbError:
        raise
    except OSError as problem:  # A time-out of the lock is one too.
        raise FetchError(f"{directory}: {problem}. Choose another by {CACHE_ENV}.") from problem


def _with_files(source: Path, files: Mapping[str, FileInfo]) -> Path:
    for place in (source, source / "fixtures"):
        if all(os.access(place / name, os.R_OK) for name in files):
            return place
    raise CorpusError(f"{source} and its fixtures/ lack {' or '.join(files)}. Give {_COPY}.")


def _fault(path: Path, want: FileInfo) -> str | None:
    """What is wrong with a file, or None if it is the right one."""
    found = "no readable file"
    with suppress(OSError):
        if path.is_file():
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
    fault = f"{path}: expected SHA-256 {want.sha256}, found {found}."
    return fault if found != want.sha256 else None
