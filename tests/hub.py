"""A Hub on the loopback interface: what the real clients ask of it, over plain HTTP.

It keeps everything in memory: repositories with their commits, pull requests and LFS objects. A
commit is one step, as on the Hub. Faults are made on demand; see :class:`Fault`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_" + "MarkedTokenThatMustNeverShowUp0000"
LFS_SUFFIXES = (".parquet", ".arrow", ".bin")


class Blob(NamedTuple):
    """A file of a commit."""

    data: bytes
    lfs: bool = False

    @property
    def git_oid(self) -> str:
        """What git calls it; of an LFS file that of its pointer."""
        data = self.data
        if self.lfs:
            spec = "https://git-lfs.github.com/spec/v1"
            data = f"version {spec}\noid sha256:{self.sha256}\nsize {len(data)}\n".encode()
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()

    @property
    def sha256(self) -> str:
        """The name of an LFS object."""
        return hashlib.sha256(self.data).hexdigest()


class Commit(NamedTuple):
    """A state of a repository."""

    oid: str
    files: dict[str, Blob]
    message: str
    parent: str | None


@dataclass
class Repo:
    """A repository: its branch ``main``, and pull requests."""

    kind: str
    name: str
    private: bool = False
    sdk: str | None = None
    refs: dict[str, list[Commit]] = field(default_factory=dict)

    @property
    def log(self) -> list[Commit]:
        """The commits of ``main``, oldest first."""
        return self.refs["main"]

    @property
    def files(self) -> dict[str, bytes]:
        """The files at the head of ``main``."""
        return {path: blob.data for path, blob in self.log[-1].files.items()}

    def find(self, revision: str) -> Commit | None:
        """The commit that a branch or an id names."""
        if revision in self.refs:
            return self.refs[revision][-1]
        return next(
            (c for log in self.refs.values() for c in log if c.oid.startswith(revision)), None
        )

    def add(self, files: dict[str, Blob], message: str, ref: str = "main") -> Commit:
        """Put a commit on a branch."""
        log = self.refs.setdefault(ref, [])
        parent = log[-1].oid if log else None
        state = {path: (blob.sha256, blob.lfs) for path, blob in sorted(files.items())}
        seed = repr((self.kind, self.name, ref, len(log), parent, message, state)).encode()
        oid = hashlib.sha1(seed, usedforsecurity=False).hexdigest()
        log.append(Commit(oid, files, message, parent))
        return log[-1]

    def write(self, files: dict[str, bytes], message: str = "somebody else") -> Commit:
        """Commit regular files as somebody else would."""
        return self.add(self.log[-1].files | {p: Blob(d) for p, d in files.items()}, message)


@dataclass
class Fault:
    """What goes wrong with matching requests: ``do`` runs first, then one of the others.

    ``status`` answers an error, ``cut`` reads that many bytes of the body and hangs up, ``lose``
    does what was asked and hangs up without an answer.
    """

    match: str
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    body: Any = None
    cut: int | None = None
    lose: bool = False
    do: Callable[[Hub], None] | None = None
    times: int = 1


class Hub:
    """The server's state, its address, and what it was asked."""

    def __init__(self) -> None:
        self.url = ""
        self.repos: dict[tuple[str, str], Repo] = {}
        self.objects: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.faults: list[Fault] = []
        self.everything_regular = False
        self.page = 1000
        self.lock = threading.RLock()

    def repo(self, kind: str, name: str) -> Repo:
        """A repository that must be there."""
        return self.repos[kind, name]

    def create(
        self, kind: str, name: str, *, private: bool = False, sdk: str | None = None
    ) -> Repo:
        """Make a repository; like the Hub's, it starts with a file for git."""
        repo = self.repos[kind, name] = Repo(kind, name, private, sdk)
        repo.add({".gitattributes": Blob(b"*.parquet filter=lfs\n")}, "initial commit")
        return repo

    def fail(self, match: str, **fault: Any) -> Fault:
        """Let requests (`METHOD /path`) that match a pattern go wrong."""
        self.faults.append(Fault(match, **fault))
        return self.faults[-1]

    def count(self, pattern: str) -> int:
        """How many requests matched."""
        return sum(bool(re.search(pattern, request)) for request in self.requests)

    def commits(self) -> int:
        """How many commits were made but the initial ones."""
        return sum(
            len(log) - (ref == "main") for r in self.repos.values() for ref, log in r.refs.items()
        )

    def taken_fault(self, request: str) -> Fault | None:
        """The fault that this request meets, counted down."""
        with self.lock:
            for fault in self.faults:
                if fault.times > 0 and re.search(fault.match, request):
                    fault.times -= 1
                    return fault
        return None


class Refused(Exception):
    """An error answer."""

    def __init__(self, status: int, code: str | None = None, message: str = "") -> None:
        super().__init__(status, code, message)
        self.status, self.code, self.message = status, code, message


class Answer(NamedTuple):
    """What goes back."""

    body: Any
    status: int = 200
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # an answer in one piece; in two, each waits for a delayed acknowledgement
    hub: Hub

    def log_message(self, *args: Any) -> None:
        """Stay silent."""

    def _handle(self) -> None:
        url = urlsplit(self.path)
        self.query = {k: v[0] for k, v in parse_qs(url.query).items()}
        path = unquote(url.path)
        request = f"{self.command} {path}" + (f"?{url.query}" if url.query else "")
        self.hub.requests.append(request)
        self.hub.headers.append({name.lower(): value for name, value in self.headers.items()})
        fault = self.hub.taken_fault(request)
        length = int(self.headers.get("Content-Length") or 0)
        if fault is not None and fault.cut is not None:
            self.rfile.read(min(fault.cut, length))
        if fault is not None and fault.do is not None:
            fault.do(self.hub)
        if fault is not None and fault.cut is not None:
            self._hang_up()
            return
        self.body = self.rfile.read(length) if length else b""
        if fault is not None and fault.status is not None:
            self._send(Answer(fault.body or {}, fault.status, fault.headers))
            return
        try:
            with self.hub.lock:
                answer = self._answer(path)
        except Refused as refused:
            headers = {"X-Error-Message": refused.message}
            if refused.code:
                headers["X-Error-Code"] = refused.code
            answer = Answer({"error": refused.message}, refused.status, headers)
        if fault is not None and fault.lose:
            self._hang_up()
            return
        self._send(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle  # noqa: N815 - the base's names

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(2)

    def _send(self, answer: Answer) -> None:
        data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        self.send_response(answer.status)
        headers = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for name, value in (headers | answer.headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _answer(self, path: str) -> Answer:
        for pattern, method in ROUTES:
            match = re.fullmatch(pattern, f"{self.command} {path}")
            if match:
                return getattr(self, method)(**match.groupdict())
        raise Refused(404, "EntryNotFound", f"no route {path}")

    # ------------------------------------------------------------------ who may do what

    def _signed_in(self) -> bool:
        sent = self.headers.get("Authorization")
        if sent is None:
            return False
        if sent != f"Bearer {TOKEN}":
            raise Refused(401, None, "Invalid credentials in Authorization header")
        return True

    def _repo(self, kind: str, name: str) -> Repo:
        repo = self.hub.repos.get((kind.removesuffix("s"), name))
        if repo is None or (repo.private and not self._signed_in()):
            raise Refused(404 if self._signed_in() else 401, "RepoNotFound", "Repository not found")
        return repo

    def _commit(self, repo: Repo, revision: str) -> Commit:
        commit = repo.find(revision)
        if commit is None:
            raise Refused(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        return commit

    def _must_sign_in(self) -> None:
        if not self._signed_in():
            raise Refused(401, None, "Invalid username or password.")

    # ------------------------------------------------------------------ the API

    def nothing(self) -> Answer:
        return Answer({})

    def whoami(self) -> Answer:
        self._must_sign_in()
        return Answer({"type": "user", "name": "me", "orgs": [{"name": "org"}], "auth": {}})

    def create(self) -> Answer:
        self._must_sign_in()
        asked = json.loads(self.body)
        name = f"{asked.get('organization') or 'me'}/{asked['name']}"
        kind = asked.get("type", "model")
        url = {"url": f"{self.hub.url}/{'' if kind == 'model' else kind + 's/'}{name}"}
        if (kind, name) in self.hub.repos:
            return Answer({**url, "error": "You already created this repo"}, 409)
        private = asked.get("visibility") == "private" or bool(asked.get("private"))
        self.hub.create(kind, name, private=private, sdk=asked.get("sdk"))
        return Answer(url)

    def validate(self) -> Answer:
        content = json.loads(self.body)["content"]
        whole = re.match(r"---\n.*?\n---\n", content, re.DOTALL)
        errors = [] if whole else [{"message": "no front matter"}]
        return Answer({"errors": errors, "warnings": []}, 400 if errors else 200)

    def info(self, kind: str, name: str, revision: str = "main") -> Answer:
        repo = self._repo(kind, name)
        commit = self._commit(repo, revision)
        siblings = [{"rfilename": path} for path in sorted(commit.files)]
        info = {"id": name, "sha": commit.oid, "private": repo.private, "siblings": siblings}
        more = {"tags": [], "downloads": 0, "likes": 0, "gated": False, "disabled": False}
        return Answer({**info, **more, "sdk": repo.sdk} if repo.sdk else {**info, **more})

    def preupload(self, kind: str, name: str, revision: str) -> Answer:
        self._must_sign_in()
        commit = self._commit(self._repo(kind, name), revision)
        files = []
        for file in json.loads(self.body)["files"]:
            lfs = file["path"].endswith(LFS_SUFFIXES) and not self.hub.everything_regular
            answer = {"path": file["path"], "uploadMode": "lfs" if lfs else "regular"}
            there = commit.files.get(file["path"])
            if there is not None:
                answer["oid"] = there.sha256 if there.lfs else there.git_oid
            files.append({**answer, "shouldIgnore": False})
        return Answer({"files": files})

    def batch(self, kind: str, name: str) -> Answer:
        self._must_sign_in()
        self._repo(kind, name)
        objects = []
        for item in json.loads(self.body)["objects"]:
            made = {"oid": item["oid"], "size": item["size"]}
            if item["oid"] not in self.hub.objects:
                href = f"{self.hub.url}/lfs/{item['oid']}"
                made["actions"] = {"upload": {"href": href}, "verify": {"href": href + "/verify"}}
            objects.append(made)
        return Answer({"transfer": "basic", "objects": objects})

    def put(self, oid: str) -> Answer:
        if hashlib.sha256(self.body).hexdigest() != oid:
            raise Refused(400, None, "not what its name says")
        self.hub.objects[oid] = self.body
        return Answer({})

    def verify(self, oid: str) -> Answer:
        self._must_sign_in()
        asked = json.loads(self.body)
        if len(self.hub.objects.get(oid, b"")) != asked["size"] or asked["oid"] != oid:
            raise Refused(404, None, "no such object")
        return Answer({})

    def commit(self, kind: str, name: str, revision: str) -> Answer:
        self._must_sign_in()
        repo = self._repo(kind, name)
        lines = [json.loads(line) for line in self.body.splitlines()]
        header = lines[0]["value"]
        base = self._commit(repo, revision)
        wanted = header.get("parentCommit")
        pull_request = self.query.get("create_pr") == "1"
        if wanted is not None and pull_request:
            base = self._commit(repo, wanted)
        elif wanted is not None and wanted != base.oid:
            raise Refused(412, None, "A commit has happened since. Please refresh and try again.")
        files = dict(base.files)
        for line in lines[1:]:
            self._apply(files, line["key"], line["value"])
        ref, answer = "main", {}
        if pull_request:
            number = len(repo.refs)
            ref = f"refs/pr/{number}"
            repo.refs[ref] = [base]
            answer["pullRequestUrl"] = f"{self.hub.url}/{kind}/{name}/discussions/{number}"
        made = repo.add(files, header["summary"], ref)
        url = f"{self.hub.url}/{kind}/{name}/commit/{made.oid}"
        return Answer({"commitOid": made.oid, "commitUrl": url, **answer})

    def _apply(self, files: dict[str, Blob], key: str, value: dict[str, Any]) -> None:
        path = value["path"]
        if key == "file":
            files[path] = Blob(base64.b64decode(value["content"]))
        elif key == "lfsFile":
            if value["oid"] not in self.hub.objects:
                raise Refused(400, None, f"{path}: its object was not uploaded")
            files[path] = Blob(self.hub.objects[value["oid"]], lfs=True)
        elif key == "deletedFile":
            if path not in files:
                raise Refused(404, "EntryNotFound", f"A file with this name doesn't exist: {path}")
            del files[path]
        elif key == "deletedFolder":
            for below in [p for p in files if p.startswith(path.rstrip("/") + "/")]:
                del files[below]
        else:
            raise Refused(400, None, f"unknown operation {key}")

    def tree(self, kind: str, name: str, revision: str, below: str | None = None) -> Answer:
        commit = self._commit(self._repo(kind, name), revision)
        start = f"{below}/" if below else ""
        items: dict[str, dict[str, Any]] = {}
        for path, blob in sorted(commit.files.items()):
            if not path.startswith(start):
                continue
            parts = path.removeprefix(start).split("/")
            for depth in range(1, len(parts)):
                folder = start + "/".join(parts[:depth])
                items[folder] = {"type": "directory", "path": folder, "size": 0, "oid": "0" * 40}
            size = len(blob.data)
            item: dict[str, Any] = {"type": "file", "path": path, "size": size, "oid": blob.git_oid}
            if blob.lfs:
                item["lfs"] = {"oid": blob.sha256, "size": size, "pointerSize": 130}
            items[path] = item
        if below and not items:
            raise Refused(404, "EntryNotFound", f"no {below}")
        if self.query.get("recursive", "false").lower() != "true":
            items = {p: i for p, i in items.items() if "/" not in p.removeprefix(start)}
        found = list(items.values())
        first = int(self.query.get("cursor", 0))
        rest = f"{self.hub.url}{urlsplit(self.path).path}?recursive={self.query.get('recursive')}"
        link = {"Link": f'<{rest}&cursor={first + self.hub.page}>; rel="next"'}
        return Answer(
            found[first : first + self.hub.page],
            headers=link if len(found) > first + self.hub.page else {},
        )

    def resolve(self, kind: str | None, name: str, revision: str, path: str) -> Answer:
        commit = self._commit(self._repo(kind or "models", name), revision)
        blob = commit.files.get(path)
        if blob is None:
            raise Refused(404, "EntryNotFound", "Entry not found")
        tag = blob.sha256 if blob.lfs else blob.git_oid
        headers = {"ETag": f'"{tag}"', "X-Repo-Commit": commit.oid}
        headers["Content-Type"] = "application/octet-stream"
        wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
        if wanted is None or self.command == "HEAD":
            return Answer(blob.data, headers=headers)
        first, last = int(wanted[1]), min(int(wanted[2]), len(blob.data) - 1)
        headers["Content-Range"] = f"bytes {first}-{last}/{len(blob.data)}"
        return Answer(blob.data[first : last + 1], 206, headers)


KIND = r"(?P<kind>models|datasets|spaces)"
NAME = r"(?P<name>[^/]+/[^/]+)"
REVISION = r"(?P<revision>refs/[^/]+/[^/]+|[^/]+)"
ROUTES = (
    (r"GET /api/agent-harnesses", "nothing"),
    (r"GET /api/whoami-v2", "whoami"),
    (r"POST /api/repos/create", "create"),
    (r"POST /api/validate-yaml", "validate"),
    (rf"GET /api/{KIND}/{NAME}", "info"),
    (rf"GET /api/{KIND}/{NAME}/revision/{REVISION}", "info"),
    (rf"POST /api/{KIND}/{NAME}/preupload/{REVISION}", "preupload"),
    (rf"POST /api/{KIND}/{NAME}/commit/{REVISION}", "commit"),
    (rf"GET /api/{KIND}/{NAME}/tree/{REVISION}(?:/(?P<below>.+))?", "tree"),
    (rf"POST /(?:{KIND}/)?{NAME}\.git/info/lfs/objects/batch", "batch"),
    (r"PUT /lfs/(?P<oid>[0-9a-f]{64})", "put"),
    (r"POST /lfs/(?P<oid>[0-9a-f]{64})/verify", "verify"),
    (rf"(?:GET|HEAD) /(?:{KIND}/)?{NAME}/resolve/{REVISION}/(?P<path>.+)", "resolve"),
)


@contextmanager
def serve() -> Iterator[Hub]:
    """A Hub that is there until the block ends."""
    hub = Hub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": hub}))
    server.daemon_threads = True
    hub.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
