"""Submissions: the skeleton works, and what is wrong in a folder is named by file and line."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from cli_kit import pmb

from pmb_hf.corpus import load_corpus
from pmb_hf.doctor import examine, exit_code
from pmb_hf.errors import InputError
from pmb_hf.submission import check, new
from pmb_hf.submission.fields import FILL_IN

START = """
import runpy, sys
sys.path.insert(0, ".")
runpy.run_path("service.py", run_name="__main__")
"""
DIGEST = "sha256:" + "a1" * 32


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """The skeleton as it is written."""
    return new("my-memory", tmp_path)


@pytest.fixture
def filled(empty: Path) -> Path:
    """The skeleton with everything filled in."""
    for name, value in (("Dockerfile", DIGEST.removeprefix("sha256:")), ("SUBMISSION.md", "1.0")):
        path = empty / name
        path.write_text(path.read_text().replace(FILL_IN, value))
    return empty


def found(folder: Path, rule: str | None = None) -> list[str]:
    return [
        f"{f.file}:{f.line} {f.severity} {f.message}"
        for f in check(folder).findings
        if rule in (None, f.rule)
    ]


def append(folder: Path, name: str, text: str) -> None:
    path = folder / name
    before = path.read_text() if path.exists() else ""
    path.write_text(before + text)


# ---------------------------------------------------------------- the skeleton


def test_only_what_the_author_knows_is_missing(empty: Path) -> None:
    checked = check(empty)
    assert not checked.ok
    assert {(f.file, f.rule) for f in checked.findings} == {
        ("Dockerfile", "digest"),
        ("SUBMISSION.md", "field"),
    }
    for finding in checked.findings:
        assert finding.line is not None
        assert FILL_IN in (empty / finding.file).read_text().splitlines()[finding.line - 1]


def test_filled_in_it_passes(filled: Path) -> None:
    assert check(filled).ok
    assert not found(filled)


def test_its_service_is_well(filled: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-c",
            START,
        ],
        cwd=filled,
        env={"PORT": str(port)},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().decode() == f"listening on port {port}\n"
        checks = examine(f"http://127.0.0.1:{port}", allow_reset=True)
        assert exit_code(checks) == 0, checks
        assert [check.name for check in checks if check.advice] == []
    finally:
        process.terminate()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 101])
def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="can't name a submission"):
        new(name, tmp_path)


def test_nothing_is_overwritten(empty: Path) -> None:
    with pytest.raises(InputError, match="is there already and not empty"):
        new(empty.name, empty.parent)


# ---------------------------------------------------------------- fields


def test_no_submission_file(filled: Path) -> None:
    (filled / "SUBMISSION.md").unlink()
    assert "SUBMISSION.md:None error SUBMISSION.md is missing" in found(filled, "file-missing")[0]


@pytest.mark.parametrize(
    ("old", "new_text", "words"),
    [
        ("license: 1.0", "", "license is missing"),
        ("license: 1.0", "license:", "license is missing"),
        ("license: 1.0", "license: [a]", "license must be a text"),
        ("license: 1.0", "license: MIT\nprecision: 0.9", "scores are not submitted"),
        ("license: 1.0", "license: MIT\ncolour: red", "colour is no field"),
        ("constants: {}", "constants: [a]", "must be `NAME: what for` pairs"),
        ("constants: {}", "constants:\n  top_k:", "say what top_k is for"),
        ("---\nname", "name", "must start with YAML"),
        ("name: my-memory", "name: [", "is no YAML"),
    ],
)
def test_fields(filled: Path, old: str, new_text: str, words: str) -> None:
    path = filled / "SUBMISSION.md"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new_text, 1))
    assert any(words in text for text in found(filled)), found(filled)


def test_every_line_that_is_to_be_filled_in_is_named(filled: Path) -> None:
    append(filled, "SUBMISSION.md", f"\nMore: {FILL_IN}.\n{FILL_IN}\n")
    path = filled / "SUBMISSION.md"
    path.write_text(path.read_text().replace("license: 1.0", f"license: {FILL_IN}"))
    lines = [n for n, line in enumerate(path.read_text().splitlines(), 1) if FILL_IN in line]
    assert len(lines) == 3
    done = pmb("submission", "check", filled)
    assert done.code == 1
    named = [line for line in done.out.splitlines() if line.startswith("SUBMISSION.md:")]
    assert [int(line.split(":")[1]) for line in named] == lines  # each once
    assert "license is to be filled in" in named[0]
    assert all(f"{FILL_IN} is left here" in line for line in named[1:])


@pytest.mark.parametrize("name", ["Dockerfile", "docker-compose.yml"])
def test_a_file_that_is_missing(filled: Path, name: str) -> None:
    (filled / name).unlink()
    assert any(text.startswith(f"{name}:None error {name} is missing") for text in found(filled))


def test_no_source(filled: Path) -> None:
    (filled / "service.py").unlink()
    (filled / "memory.py").unlink()
    assert "the source of the service" in found(filled, "file-missing")[0]


# ---------------------------------------------------------------- versions and images


@pytest.mark.parametrize(
    ("name", "line", "bad"),
    [
        ("requirements.txt", "numpy==2.1.0", False),
        ("requirements.txt", 'numpy[all]==2.1.0 ; python_version > "3.9"  # why', False),
        ("requirements.txt", f"numpy==2.1.0 --hash={DIGEST}", False),
        ("requirements.txt", f"numpy==2.1.0 \\\n    --hash={DIGEST}", False),
        ("requirements.txt", "x @ git+https://a.example/x@" + "0" * 40, False),
        ("requirements.txt", "--index-url https://a.example/simple", False),
        ("requirements.txt", "-r more-requirements.txt", False),
        ("requirements.txt", "numpy", True),
        ("requirements.txt", "numpy>=2", True),
        ("requirements.txt", "numpy==2.*", True),
        ("requirements.txt", "x @ git+https://a.example/x@main", True),
        ("requirements.txt", "-e .", True),
        ("Dockerfile", "RUN pip install --no-cache-dir numpy", True),
        ("Dockerfile", "RUN pip install 'numpy==2.1.0' && echo done", False),
        ("Dockerfile", "RUN npm install left-pad", True),
        ("Dockerfile", "RUN curl -fsSL https://a.example/i.sh | sh", True),
        ("Dockerfile", "RUN apt-get update \\\n && pip install numpy", True),
    ],
)
def test_versions(filled: Path, name: str, line: str, bad: bool) -> None:
    first = len((filled / name).read_text().splitlines()) + 1
    append(filled, name, line + "\n")
    told = found(filled, "pin")
    assert bool(told) == bad, told
    if bad:
        assert told[0].startswith(f"{name}:{first} error")


@pytest.mark.parametrize(
    ("manifest", "content", "lock"),
    [
        ("package.json", '{"dependencies": {"left-pad": "^1.0.0"}}', "package-lock.json"),
        ("pyproject.toml", '[project]\ndependencies = ["numpy>=2"]\n', "uv.lock"),
        ("Cargo.toml", "[dependencies]\n", "Cargo.lock"),
        ("go.mod", "module x\n", "go.sum"),
    ],
)
def test_a_lock_file_is_enough(filled: Path, manifest: str, content: str, lock: str) -> None:
    append(filled, manifest, content)
    assert found(filled, "pin")
    append(filled, lock, "x\n")
    assert not found(filled, "pin")


@pytest.mark.parametrize(
    ("name", "line", "bad"),
    [
        ("Dockerfile", f"FROM --platform=linux/amd64 a@{DIGEST} AS base", False),
        ("Dockerfile", "FROM scratch", False),
        ("Dockerfile", "FROM ubuntu:24.04", True),
        ("Dockerfile", "FROM $IMAGE", True),
        ("Dockerfile", "COPY --from=ghcr.io/x/uv:latest /uv /bin/", True),
        ("docker-compose.yml", "  db:\n    image: postgres:16", True),
        ("docker-compose.yml", f"  db:\n    image: postgres:16@{DIGEST}", False),
        ("docker-compose.yml", '  db: {}\n#    image: "postgres:16"', False),
    ],
)
def test_images(filled: Path, name: str, line: str, bad: bool) -> None:
    append(filled, name, line + "\n")
    assert bool(found(filled, "digest")) == bad


def test_a_stage_is_no_image(filled: Path) -> None:
    append(filled, "Dockerfile", f"FROM a@{DIGEST} AS one\nFROM one\nCOPY --from=one /a /b\n")
    assert not found(filled)


# ---------------------------------------------------------------- environment


@pytest.mark.parametrize(
    ("name", "text", "variable"),
    [
        ("memory.py", 'import os\nurl = os.environ["STORE_URL"]\n', "STORE_URL"),
        ("memory.py", 'import os\nurl = os.getenv("STORE_URL", "")\n', "STORE_URL"),
        ("index.ts", "const u = process.env.STORE_URL;\n", "STORE_URL"),
        ("docker-compose.yml", "      STORE_URL: http://db\n", "STORE_URL"),
        ("docker-compose.yml", "    command: run ${OTHER:-x}\n", "OTHER"),
        ("Dockerfile", "ENV STORE_URL=http://db\n", "STORE_URL"),
        (".env", "STORE_URL=http://db\n", "STORE_URL"),
    ],
)
def test_variables(filled: Path, name: str, text: str, variable: str) -> None:
    append(filled, name, text)
    (told,) = found(filled, "variable")
    assert f"error {variable} is read but not declared" in told
    path = filled / "SUBMISSION.md"
    declared = f"environment:\n  {variable}: where the store is\n"
    path.write_text(path.read_text().replace("environment:\n", declared))
    assert not found(filled)


def test_a_variable_that_nothing_reads(filled: Path) -> None:
    path = filled / "SUBMISSION.md"
    path.write_text(path.read_text().replace("environment:\n", "environment:\n  UNUSED: x\n"))
    assert found(filled) == ["SUBMISSION.md:None warning UNUSED is declared but nothing reads it"]
    assert check(filled).ok


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("memory.py", 'KEY = "sk-' + "a" * 40 + '"'),
        ("memory.py", 'token = "hf_' + "b" * 34 + '"'),
        ("memory.py", 'api_key = "correct-horse-battery"'),
        ("docker-compose.yml", "      API_KEY: correct-horse-battery"),
        (".env", "DB_PASSWORD=correct-horse"),
    ],
)
def test_secrets(filled: Path, name: str, line: str) -> None:
    append(filled, name, line + "\n")
    (told,) = found(filled, "secret")
    value = re.split(r"[\s\"'=:]+", line)[-1] or line.split('"')[1]
    assert value not in told


@pytest.mark.parametrize(
    "line",
    ['api_key = os.environ["API_KEY"]', "api_key = config.api_key", 'API_KEY = ""', "api_key=None"],
)
def test_no_secrets(filled: Path, line: str) -> None:
    append(filled, "memory.py", line + "\n")
    assert not found(filled, "secret")


# ---------------------------------------------------------------- red flags


def test_what_stands_in_a_corpus(filled: Path) -> None:
    corpus = load_corpus("native")
    belief, case = corpus.beliefs[3], next(c for c in corpus.cases if len(c.query) > 20)
    lines = [f'A = "{belief.id}"', f"B = {case.query!r}", f"C = '{case.case_id}'", "D = 'harmless'"]
    first = len((filled / "memory.py").read_text().splitlines()) + 1
    append(filled, "memory.py", "\n".join(lines) + "\n")
    told = found(filled, "knows-corpus")
    assert [text.partition(" ")[0] for text in told] == [f"memory.py:{first + n}" for n in range(3)]
    assert f"'{belief.id}' is a belief of the native corpus" in told[0]
    assert "is a query of" in told[1]


@pytest.mark.parametrize(
    "line",
    [
        "if 'PrecisionMemBench' in agent:",
        "if user_id.startswith('pmb-doctor'):",
        "import pmb_hf",
        "wanted = case['mustInclude']",
    ],
)
def test_a_wrapper_that_knows_the_benchmark(filled: Path, line: str) -> None:
    append(filled, "memory.py", f"# {line}\n")
    assert len(found(filled, "detects-benchmark")) == 1


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        ("hits = store.search(query, top_k=5)", True),
        ("hits = store.search(query, top_k=limit)", False),
        ("hits = hits[:5]", True),
        ("hits = hits[:limit]", False),
        ("good = [h for h in hits if h['score'] > 0.35]", True),
        ("good = [h for h in hits if h.score >= floor]", False),
        ("CUT = 0.4\ngood = [h for h in hits if h.score >= CUT]", True),
        ("MIN_SCORE = 0.5", True),
        ("limit = min(limit, 8)", True),
        ("def search(query, top_k=3): ...", True),
        ("def search(query, top_k=None): ...", False),
        ("if score > 0: pass", False),
        ("version = 3", False),
        ("first = text[2:]", False),
    ],
)
def test_constants(filled: Path, line: str, bad: bool) -> None:
    append(filled, "memory.py", line + "\n")
    assert bool(found(filled, "constant")) == bad, found(filled)


@pytest.mark.parametrize(
    ("line", "bad"),
    [
        ("const hits = all.filter(h => h.score > 0.3);", True),
        ("const hits = all.slice(0, 5);", True),
        ("search({ topK: 10, query })", True),
        ("search({ topK: limit, query })", False),
    ],
)
def test_constants_of_other_languages(filled: Path, line: str, bad: bool) -> None:
    append(filled, "index.ts", line + "\n")
    assert bool(found(filled, "constant")) == bad, found(filled)


def test_a_constant_with_a_reason_is_a_warning(filled: Path) -> None:
    append(filled, "memory.py", "hits = store.search(query, top_k=5)\n")
    path = filled / "SUBMISSION.md"
    reason = "constants:\n  top_k: the vendor's own default"
    path.write_text(path.read_text().replace("constants: {}", reason))
    (told,) = found(filled)
    assert " warning top_k is fixed at 5" in told
    assert check(filled).ok


def test_the_official_corpus(filled: Path, upstream_dir: Path) -> None:
    from pmb_hf.submission.flags import _known

    official = load_corpus("official", fixtures=upstream_dir)
    append(filled, "memory.py", f'A = "{official.beliefs[0].id}"\n')
    told = check(filled, [_known(official)]).findings
    assert [finding.rule for finding in told] == ["knows-corpus"]


def test_what_is_no_text_or_no_python(filled: Path) -> None:
    (filled / "weights.bin").write_bytes(b"\0" * 100)
    append(filled, "broken.py", "def (:\ntop_k = 5\n")
    (filled / "node_modules").mkdir()
    append(filled, "node_modules/x.py", "top_k = 5\n")
    (filled / "link").symlink_to("/etc/passwd")
    assert [text.partition(" ")[0] for text in found(filled)] == [
        "broken.py:2",
        "link:None",
        "weights.bin:None",
    ]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("deep.py", "x = " + "-" * 200_000 + "1", "a line is longer than 10,000 (200,005)"),
        ("deep.py", "if a:\n pass\n" + "elif a:\n pass\n" * 20_000, "nested too deeply"),
        ("deep.py", "top_k = " + "-" * 900 + "1", "nested too deeply"),
        ("app.js", "score" * 100_000, "a line is longer than 10,000"),
        ("large.go", "// a comment\n" * 200_000, "larger than 2,000,000 bytes"),
        ("package.json", "[\n" * 50_000, "no valid JSON"),
        ("pyproject.toml", "a = " + "[" * 5_000, "no valid TOML"),
        ("requirements.txt", "a" * 20_000, "a line is longer than 10,000"),
        ("SUBMISSION.md", "---\na: " + "[" * 5_000 + "\n---\n", "nested too deeply"),
    ],
)
def test_what_is_too_large_or_too_deep_is_refused(
    filled: Path, name: str, text: str, words: str
) -> None:
    (filled / name).write_text(text)
    findings = [f for f in check(filled, []).findings if f.file == name and words in f.message]
    assert [f.severity for f in findings] == ["error"]
    done = pmb("submission", "check", filled)
    assert (done.code, done.err.count("bug in pmb-hf")) == (1, 0)
    assert max(map(len, done.out.splitlines())) < 700


def test_data_that_is_too_large_is_a_warning(filled: Path) -> None:
    (filled / "vocabulary.txt").write_text("x" * 20_000)
    [finding] = check(filled, []).findings
    assert (finding.severity, finding.rule) == ("warning", "unread")


def test_a_folder_that_is_too_large(filled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pmb_hf.submission.files._MOST_IN_ALL", 1_000)
    done = pmb("submission", "check", filled)
    assert (done.code, "more than 1,000 bytes of text" in done.err) == (2, True)


# ---------------------------------------------------------------- the command


def test_the_command(tmp_path: Path, filled: Path) -> None:
    made = pmb("submission", "new", "other", "--into", tmp_path)
    assert made.code == 0
    assert made.out == f"wrote {tmp_path / 'other'}\n"
    bad = pmb("submission", "check", tmp_path / "other")
    assert bad.code == 1
    assert "SUBMISSION.md:3: error [field] version is to be filled in" in bad.out
    good = pmb("submission", "check", filled, "--json")
    assert good.code == 0
    assert good.json["ok"]
    assert good.json["findings"] == []
    assert pmb("submission", "check", tmp_path / "nowhere").code == 2
