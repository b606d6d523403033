"""``pmb show``, ``pmb explain`` and ``pmb rescore``, on our reports and upstream's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import corpora
import pytest
from cli_kit import ROOT, good, pmb, program

from pmb_hf.rules import RULES


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "bm25.json"
    good("run", "--provider", "bm25", "--quiet", "--out", path)
    return path


@pytest.fixture(scope="module")
def upstream(upstream_dir: Path) -> list[Path | str]:
    """The arguments for two of upstream's files."""
    files = [upstream_dir / "reports" / f"{kind}-report-zep.json" for kind in KINDS]
    return [*files, "--fixtures", upstream_dir / "fixtures"]


KINDS = ("retrieval", "session-retrieval")


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("columns", [80, 120])
def test_show_has_all_tables_and_the_first_failures(report: Path, columns: int) -> None:
    done = good("show", report, columns=columns)
    text = flat(done.out)
    for part in ("Single turn", "Sessions", "Category", "Session turn", "Time in ms"):
        assert part in text
    assert "failed cases, the first 5" in text
    assert max(map(len, done.out.splitlines())) <= columns
    assert done.err == ""


@pytest.mark.parametrize(("given", "shown"), [("0", 0), ("2", 2), ("all", None), (None, None)])
def test_show_as_json(report: Path, given: str | None, shown: int | None) -> None:
    done = good("show", report, "--json", *([] if given is None else ["--failures", given]))
    (view,) = done.json["reports"]
    stored = json.loads(report.read_text(encoding="utf-8"))
    assert view["retrieval"] == stored["retrieval"]["measures"]
    failed = [c for c in (*stored["cases"], *stored["session"]["cases"]) if not c["passed"]]
    assert len(view["failed"]) == (len(failed) if shown is None else shown)
    for told, case in zip(view["failed"], failed, strict=False):
        assert (told["caseId"], told["failures"]) == (case["caseId"], case["failures"])


def test_failures_show_the_texts_of_beliefs(report: Path) -> None:
    done = good("show", report, "--failures", "all")
    assert "The four musicians hear themselves" in done.out
    assert "superseded" in done.out
    assert pmb("show", report, "--failures", "some").code == 2


def test_two_runs_are_shown_one_after_the_other(report: Path, tmp_path: Path) -> None:
    good("run", "--provider", "empty", "--quiet", "--out", tmp_path / "e.json")
    view = good("show", report, tmp_path / "e.json", report, "--json").json
    assert [r["provider"] for r in view["reports"]] == ["bm25", "empty", "bm25"]
    lines = good("show", report, tmp_path / "e.json", "--failures", "0").out.splitlines()
    assert [line for line in lines if " on native" in line] == [
        "bm25 on native, rules spec",
        "empty on native, rules spec",
    ]


@pytest.mark.parametrize("rules", RULES)
def test_show_under_other_rules(report: Path, rules: str) -> None:
    (view,) = good("show", report, "--rules", rules, "--json").json["reports"]
    assert view["rules"] == rules
    assert view["retrieval"]["n_precision"] == (43 if rules == "spec" else 66)


def test_upstream_s_two_files_are_shown_as_one(upstream: list[Path | str]) -> None:
    done = good("show", *upstream, columns=80)
    text = flat(done.out)
    assert text.startswith("zep on official, rules upstream-2026-06 measured by upstream's harness")
    assert "Sessions" in text
    assert "can't be told" in text
    assert "mean p50 p95" in text
    (view,) = good("show", *upstream, "--json").json["reports"]
    assert view["upstream"] is True
    assert (view["retrieval"]["cases"], view["session"]["cases"]) == (77, 12)


def test_all_of_upstream_s_reports_can_be_shown(upstream_dir: Path) -> None:
    files = sorted((upstream_dir / "reports").glob("*.json"))
    arguments = [*files, "--fixtures", upstream_dir / "fixtures"]
    view = good("show", *arguments, "--json").json
    assert len(view["reports"]) == len(files) / 2
    assert len({r["provider"] for r in view["reports"]}) == len(files) / 2
    stated = {json.loads(f.read_text())["provider"]: json.loads(f.read_text()) for f in files[:8]}
    for shown in view["reports"]:
        published = stated[shown["provider"]]["retrieval"]
        assert shown["retrieval"]["mean_precision"] == published["meanPrecision"]
        assert shown["retrieval"]["passed"] == published["totalPassed"]


def test_rescoring_under_the_same_rules_gives_the_same_bytes(report: Path, tmp_path: Path) -> None:
    text = report.read_bytes()
    assert good("rescore", report).out.encode() == text
    good("rescore", report, "--rules", "spec", "-o", tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == text
    done = program("rescore", report, cwd=tmp_path, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.out.encode() == text


@pytest.mark.parametrize("rules", RULES)
def test_rescoring_upstream_s_files_joins_them(
    upstream: list[Path | str], tmp_path: Path, rules: str
) -> None:
    out = tmp_path / "zep.json"
    good("rescore", *upstream, "--rules", rules, "-o", out)
    assert good("rescore", *upstream, "--rules", rules).out.encode() == out.read_bytes()
    stored = json.loads(out.read_text(encoding="utf-8"))
    assert stored["rules"] == rules
    assert (len(stored["cases"]), len(stored["session"]["cases"])) == (77, 12)
    assert good("rescore", out, *upstream[2:]).out.encode() == out.read_bytes()
    shown = flat(good("show", out, *upstream[2:], "--failures", "0").out)
    assert "measured by upstream's harness" in shown
    assert "can't be told" in shown


def test_parts_of_two_providers_can_not_be_joined(report: Path, tmp_path: Path) -> None:
    good("run", "--provider", "empty", "--quiet", "--out", tmp_path / "e.json")
    assert "two providers" in pmb("rescore", report, tmp_path / "e.json").err
    assert "in both reports" in pmb("rescore", report, report).err


def test_a_report_on_a_corpus_of_one_s_own_needs_it(tmp_path: Path) -> None:
    home = corpora.write(tmp_path / "boats")
    good("run", "--provider", "fts5", "--quiet", "--corpus", home, "--out", tmp_path / "r.json")
    done = pmb("show", tmp_path / "r.json")
    assert done.code == 2
    assert "corpus 'boats'; give its directory by --corpus" in done.err
    good("show", tmp_path / "r.json", "--corpus", home)
    wrong = pmb("show", tmp_path / "r.json", "--corpus", "native")
    assert wrong.code == 2
    assert "SHA-256" in wrong.err


def test_explain_without_a_report_tells_what_is_wanted() -> None:
    done = good("explain", "alias-abbrev-iem", columns=80)
    text = flat(done.out)
    assert "Are the IEM packs wired?" in text
    assert "exactly b-in-ears" in text
    assert "why IEM is the usual abbreviation" in text
    assert max(map(len, done.out.splitlines())) <= 80


def test_explain_with_a_report_marks_what_came(report: Path) -> None:
    text = flat(good("explain", "alias-abbrev-iem", report).out)
    assert "bm25 failed" in text
    assert "1 b-in-ears needed" in text
    assert "superseded" in text
    assert "in the pinned tier" in text
    (view,) = good("explain", "alias-abbrev-iem", report, "--json").json["cases"]
    (told,) = view["answers"]
    assert told["relevant"][0] == {
        "beliefId": "b-in-ears",
        "mark": "needed",
        "rank": 1,
        "score": told["relevant"][0]["score"],
        "fate": None,
        "addedBy": None,
    }
    for line in (*told["relevant"], *told["dropped"]):
        assert view["beliefs"][line["beliefId"]]


@pytest.fixture(scope="module")
def long_names(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The native corpus with long ids, and a report on it."""
    home = tmp_path_factory.mktemp("long")
    source = ROOT / "pmb_hf" / "corpus" / "native"
    texts = {
        p.name: p.read_text("utf-8") for p in source.glob("*.json") if "manifest" not in p.name
    }
    ids = re.findall(r'"(?:_id|caseId)": "([^"]+)"', "".join(texts.values()))
    known = "|".join(map(re.escape, ids))
    for name, text in texts.items():
        longer = re.sub(f'"({known})"', rf'"\g<1>{TAIL}"', text)
        (home / name).write_text(longer, "utf-8")
    good("run", "-p", "bm25", "--corpus", home, "-q", "-o", home / "r" / "bm25.json")
    return home, home / "r" / "bm25.json"


TAIL = "-0123456789abcdefghijklmnopqrstuvwxyz-0123456789"


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_long_ids_are_folded_and_not_cut(long_names: tuple[Path, Path], columns: int) -> None:
    home, report = long_names
    explained = good("explain", "relation-all", report, "--corpus", home, columns=columns).out
    shown = good("show", report, "--corpus", home, "--failures", "1", columns=columns).out
    listed = good("explain", "--corpus", home, columns=columns).out
    for text, ids in (
        (explained, ["b-rel-disc-reason", "b-queen-discs", "b-colour-vision"]),
        (shown.partition("Session turn")[2], ["session-tour-week-drift"]),
        (listed, ["alias-caps-foh", "alias-abbrev-dsm"]),
    ):
        assert max(map(len, text.splitlines())) <= columns
        for name in ids:
            assert in_a_column(text, name + TAIL), (name, text)


def in_a_column(text: str, name: str) -> bool:
    """Whether a name stands in a table, folded over several lines of one column."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        start = line.find(name[:10])
        if start < 0:
            continue
        found, row = "", number
        while row < len(lines) and len(found) < len(name):
            piece = re.split(r"\s{2,}", lines[row][start:], maxsplit=1)[0].strip()
            if not piece or not name.startswith(found + piece):
                break
            found, row = found + piece, row + 1
        if found == name:
            return True
    return False


def test_explain_a_session_or_one_turn_of_it(report: Path) -> None:
    whole = good("explain", "session-tour", report, "--json").json["cases"]
    assert [case["turnIndex"] for case in whole] == list(range(11))
    (one,) = good("explain", "session-tour", report, "--turn", "7", "--json").json["cases"]
    assert one == whole[7]
    assert flat(good("explain", "session-tour", "--turn", "7").out).count("kind active") == 1


def test_explain_upstream_s_report_says_what_is_not_known(upstream: list[Path | str]) -> None:
    case = json.loads(Path(upstream[0]).read_text(encoding="utf-8"))["cases"][0]["caseId"]
    text = flat(good("explain", case, *upstream).out)
    assert "dropped not known" in text
    (view,) = good("explain", case, *upstream, "--json").json["cases"]
    assert view["answers"][0]["dropped"] is None


def hostile(directory: Path) -> Path:
    """A corpus and a report whose texts try to steer the terminal and the markup."""
    evil = "[bold red]x[/] \x1b[31m\x1b]0;t\x07 \u202egnp.\u202c \u2066y\u2069 \x9b2J\r\n[link=http://e]z"
    raw: dict[str, Any] = corpora.files()
    for belief in raw["beliefs.seed.json"]:
        belief["content"] = f"{evil} {belief['content']}"
    raw["retrieval.cases.json"][0]["query"] = f"Where is our mooring? {evil}"
    raw["retrieval.cases.json"][0]["rationale"] = evil
    raw["session-retrieval.cases.json"][0]["turns"][0]["label"] = evil
    return corpora.write(directory / "evil", raw)


def test_texts_of_others_can_not_steer_the_terminal(tmp_path: Path) -> None:
    home = hostile(tmp_path)
    name = "\x1b[2Jprovider\u202e[red]"
    done = good(
        *("run", "--provider", "fts5", "--corpus", home, "--name", name),
        *("--out", tmp_path / "r.json"),
    )
    shown = good("show", tmp_path / "r.json", "--corpus", home, "--failures", "all")
    told = good("explain", "c-mooring", tmp_path / "r.json", "--corpus", home)
    for output in (done.out, done.err, shown.out, told.out):
        assert not set(output) & set("\x1b\x07\x9b\r\u202e\u202c\u2066\u2069")
    assert "[red]" in shown.out
    assert "[bold red]x[/]" in told.out


def test_a_report_with_half_a_character_is_an_error(report: Path, tmp_path: Path) -> None:
    tree = json.loads(report.read_text(encoding="utf-8"))
    tree["cases"][0]["description"] = "\ud800"
    (tmp_path / "half.json").write_text(json.dumps(tree), encoding="utf-8")
    for command in ("show", "rescore"):
        done = pmb(command, tmp_path / "half.json")
        assert done.code == 2
        assert "half of a character" in done.err
