"""Tests of pmb_hf.hf_export, its card, leaderboard.collect and tables, and ``pmb export``."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import corpora
import datasets
import pytest
import yaml
from board_kit import failing, ran, rows_of, strict, under, with_options, without, wrote
from cli_kit import ROOT, environment, good, pmb

import pmb_hf
from pmb_hf.corpus import load_corpus
from pmb_hf.dataset_rows import CONFIGS as DATA_CONFIGS
from pmb_hf.dataset_rows import rows as data_rows
from pmb_hf.errors import InputError
from pmb_hf.hf_export import content, export
from pmb_hf.hf_export_card import is_own, markdown_text
from pmb_hf.leaderboard.board import Run, board
from pmb_hf.leaderboard.collect import Collected, Corpora, collect, files, joined
from pmb_hf.leaderboard.tables import CONFIGS
from pmb_hf.report import Report, judge
from pmb_hf.report_json import report_json
from pmb_hf.report_reader import read_report
from pmb_hf.rules import RULES
from pmb_hf.schema import Corpus

ALL = {**DATA_CONFIGS, **CONFIGS}


@pytest.fixture(scope="module")
def native() -> Corpus:
    return load_corpus("native")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpora.load(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def report(native: Corpus) -> Report:
    return ran(native)


@pytest.fixture(scope="module")
def folder(native: Corpus, report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "hf_export"
    runs = [Run(report, native), Run(ran(native, "fts5"), native)]
    export(Collected(runs), out)
    return out


def tree_of(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def front_matter(directory: Path) -> dict[str, object]:
    card = (directory / "README.md").read_text(encoding="utf-8")
    found: dict[str, object] = yaml.safe_load(card.split("---\n")[1])
    return found


@pytest.mark.parametrize("config", ALL)
def test_every_config_loads(folder: Path, config: str) -> None:
    found = datasets.load_dataset(str(folder), config, split="test")
    assert found.column_names == [column.name for column in ALL[config].columns]
    tree = strict(folder / "leaderboard.json")
    if config == "leaderboard":
        assert found["id"] == [row["id"] for row in tree["rows"]]
    elif config == "results":
        assert len(found) == len(tree["answers"]) == 2 * 89
    else:
        assert found.to_list() == data_rows(load_corpus("native"), config)


def test_results_are_predictions_that_come_to_the_same_figures(folder: Path) -> None:
    results = datasets.load_dataset(str(folder), "results", split="test")
    tree = strict(folder / "leaderboard.json")
    for row in rows_of(tree):
        if row["source"] != "run":
            continue
        for part, config in (("retrieval", "retrieval"), ("session", "sessions")):
            cases = datasets.load_dataset(str(folder), config, split="test")
            mine = [
                answer
                for answer in results.to_list()
                if answer["run"] == row["id"]
                and (answer["turn_index"] is None) == (part == "retrieval")
            ]
            for rules in RULES:
                again = pmb_hf.score(mine, cases.to_list(), rules=rules)
                told = row["scores"][rules][part]["summary"]
                names = [n for n in told if re.match("mean_(prec|rec|drift)|passed|n_prec", n)]
                assert {n: again[n] for n in names} == {n: told[n] for n in names}


def test_the_leaderboard_table_agrees_with_the_board(folder: Path, report: Report) -> None:
    found = datasets.load_dataset(str(folder), "leaderboard", split="test").to_list()
    tree = strict(folder / "leaderboard.json")
    for flat, row in zip(found, tree["rows"], strict=True):
        figures = row["scores"][flat["rules"]]
        assert flat["rules"] == "spec" or "spec" not in row["scores"]
        assert flat["retrieval_rank"] == figures["retrieval"]["rank"]
        assert flat["retrieval_mean_precision"] == figures["retrieval"]["summary"].get(
            "mean_precision"
        )
        assert len(flat["marks"]) == len(figures["marks"])
        assert json.loads(flat["options"]) == row["options"]
    assert {row["source"] for row in found} == {"run", "control", "published by upstream"}


def test_the_card_is_a_dataset_card(folder: Path) -> None:
    head = front_matter(folder)
    assert head["license"] == "apache-2.0"
    assert head["tags"]
    assert [c["config_name"] for c in head["configs"]] == list(ALL)  # type: ignore[index,attr-defined]
    for config in head["configs"]:  # type: ignore[attr-defined]
        assert (folder / config["data_files"][0]["path"]).is_file()
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "@misc{precisionmembench" in card
    assert re.search(r"^\| 1 \| (bm25|fts5) \| \d+/77 \|", card, re.MULTILINE)
    assert "not run by us" in card
    assert "There are no runs yet" not in card
    assert yaml.safe_load((folder / "eval.yaml").read_text(encoding="utf-8"))["tasks"]


def test_the_reports_are_in_it(folder: Path, native: Corpus, report: Report) -> None:
    tree = strict(folder / "leaderboard.json")
    for row in rows_of(tree):
        if row["source"] == "run":
            again = read_report(folder / row["file"])
            summary = judge(again, native, "spec").retrieval
            assert summary == row["scores"]["spec"]["retrieval"]["summary"]


def test_the_same_reports_give_the_same_bytes(
    folder: Path, native: Corpus, report: Report, tmp_path: Path
) -> None:
    runs = [Run(ran(native, "fts5"), native), Run(report, native), Run(report, native)]
    export(Collected(runs), tmp_path / "again")
    assert tree_of(tmp_path / "again") == tree_of(folder)


def test_an_export_of_an_export_is_the_same(folder: Path, tiny: Corpus, tmp_path: Path) -> None:
    loader = Corpora(load_corpus)
    export(collect([folder], loader.find), tmp_path / "again")
    assert tree_of(tmp_path / "again") == tree_of(folder)
    # and where texts were withheld
    export(Collected([Run(ran(tiny), tiny)]), tmp_path / "one")
    found = collect([tmp_path / "one"], Corpora(load_corpus, [tiny]).find)
    export(found, tmp_path / "two")
    assert tree_of(tmp_path / "two") == tree_of(tmp_path / "one")


def test_a_published_report_outlives_an_export_without_its_corpus(
    tiny: Corpus, tmp_path: Path
) -> None:
    export(Collected([Run(ran(tiny), tiny)]), tmp_path / "one")
    bare = collect([tmp_path / "one"], Corpora(load_corpus).find)
    assert len(bare.remarks) == 1
    export(bare, tmp_path / "two")
    [row] = [r for r in rows_of(strict(tmp_path / "two" / "leaderboard.json")) if r["file"]]
    assert row["scores"]["spec"]["retrieval"]["rank"] is None
    assert (tmp_path / "two" / row["file"]).read_bytes() == (
        tmp_path / "one" / row["file"]
    ).read_bytes()
    export(collect([tmp_path / "two"], Corpora(load_corpus, [tiny]).find), tmp_path / "three")
    assert tree_of(tmp_path / "three") == tree_of(tmp_path / "one")
    # a report that was never published may hold texts, so it stays out
    path = wrote(tmp_path, tiny, "own", ran(tiny))
    made, tree = content(collect([path], Corpora(load_corpus).find).runs)
    assert not [file for file in made if file.startswith("reports/")]
    assert [r["provider"] for r in rows_of(tree) if r["source"] == "run"] == ["bm25"]


def test_texts_of_a_corpus_of_ones_own_stay_out(tiny: Corpus, tmp_path: Path) -> None:
    runs = Collected([Run(ran(tiny), tiny)])
    export(runs, tmp_path / "bare")
    export(runs, tmp_path / "whole", own_texts=True)
    for text in (b"mooring?", b"berth 14", b"apologies"):
        assert not any(text in data for data in tree_of(tmp_path / "bare").values())
        assert any(text in data for data in tree_of(tmp_path / "whole").values())


def test_upstreams_texts_stay_out(upstream_dir: Path, tmp_path: Path) -> None:
    official = load_corpus("official", fixtures=upstream_dir)
    find = Corpora(lambda name: load_corpus(name, fixtures=upstream_dir)).find
    mine = wrote(tmp_path / "mine", official, "everything", ran(official, "everything"))
    found = collect([upstream_dir / "reports", mine], find)
    assert len(found.runs) == 9
    made, tree = content(found.runs, own_texts=True)
    texts = [b.content for b in official.beliefs] + [b.why_it_matters for b in official.beliefs]
    texts += [text for c in official.cases for text in (c.query, c.description, c.notes)]
    texts += [p for c in official.cases for p in c.expect.prelude.contains if len(p) > 11]
    for session in official.sessions:
        texts += [session.description, *(t.query for t in session.turns)]
    wanted = [t.encode() for t in texts if len(t) > 11 and " " in t]
    for path, data in made.items():
        assert not [text for text in wanted if text in data], path
    export(found, tmp_path / "one")
    export(collect([tmp_path / "one"], find), tmp_path / "two")
    assert tree_of(tmp_path / "two") == tree_of(tmp_path / "one")
    assert {row["provider"] for row in rows_of(tree)} >= {"zep", "tenure", "a-mem", "everything"}


# cases.md 21: no reports at all
def test_no_reports(tmp_path: Path) -> None:
    done = good("export", "-o", tmp_path / "out")
    assert "pmb run" in done.err
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "There are no runs yet. `pmb run" in card
    configs = datasets.get_dataset_config_names(str(tmp_path / "out"))
    assert configs == [name for name in ALL if name != "results"]
    for config in configs:
        assert datasets.load_dataset(str(tmp_path / "out"), config, split="test").num_rows
    assert "pmb run" in good("leaderboard", tmp_path / "out").out


# cases.md 22: two reports of one provider with other settings
def test_two_settings_of_a_provider(native: Corpus, report: Report, tmp_path: Path) -> None:
    other = ran(native, active_filter=True)
    export(Collected([Run(report, native), Run(other, native)]), tmp_path, published=False)
    labels = [row["label"] for row in rows_of(strict(tmp_path / "leaderboard.json"))]
    assert sorted(labels) == ["bm25", "bm25 · active_filter=true"]
    assert len(list((tmp_path / "reports").glob("*.json"))) == 2
    shown = good("leaderboard", tmp_path).out
    assert "bm25 · active_filter=true" in shown


# cases.md 5, 11, 18, 24 in the card and the terminal
def test_what_is_not_ranked_says_why(native: Corpus, report: Report, tmp_path: Path) -> None:
    broken = [
        wrote(tmp_path, native, "some", replace(without(report, 7), provider="seventy")),
        wrote(tmp_path, native, "failed", replace(failing(report, 3), provider="failing")),
        wrote(
            tmp_path, native, "capped", replace(with_options(report, top_k=3), provider="capped")
        ),
        wrote(tmp_path, native, "whole", report),
    ]
    done = good("export", *broken, "-o", tmp_path / "out", "--no-published")
    assert "not ranked: seventy: retrieval: 70/77 cases" in done.err
    assert "not ranked: failing: retrieval: 3 of 77 cases got no answer (3 error)" in done.err
    assert "not ranked: capped: every answer is cut to top_k=3" in done.err
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert re.search(r"^\| – \| seventy \| 70/77 cases \| – \|", card, re.MULTILINE)
    assert re.search(r"^\| – \| failing \| 77/77 cases \| – \|", card, re.MULTILINE)
    assert re.search(r"^\| 1 \| bm25 \| ", card, re.MULTILINE)
    assert re.search(r"^\| – \| empty \| 34/77 \| 0 \|", card, re.MULTILINE)
    shown = good("leaderboard", tmp_path / "out").out
    assert "(70 of 77)" in shown
    assert "34/77" in shown


def test_reports_of_another_version_of_the_corpus(
    native: Corpus, report: Report, tmp_path: Path
) -> None:
    older = under(report, corpus={**report.provenance["corpus"], "sha256": "0" * 64})
    path = wrote(tmp_path, native, "new", report)
    text = path.read_text(encoding="utf-8").replace(native.sha256, "0" * 64)
    (tmp_path / "old.json").write_text(text, encoding="utf-8")
    done = good("export", path, tmp_path / "old.json", "-o", tmp_path / "out")
    assert "another version of the corpus 'native'" in done.err
    tree = strict(tmp_path / "out" / "leaderboard.json")
    old, new = sorted(
        (row for row in rows_of(tree) if row["source"] == "run"), key=lambda row: row["corpus"]
    )
    assert old["corpus"] == "native-000000000000"
    assert old["corpusSha256"] == older.corpus_sha256
    assert old["scores"]["spec"]["retrieval"]["rank"] is None
    assert new["scores"]["spec"]["retrieval"]["rank"] == 1
    assert len(json.loads(good("leaderboard", tmp_path / "out", "--json").out)["corpora"]) == 3


def test_bad_and_foreign_files_are_skipped_by_name(
    native: Corpus, report: Report, tmp_path: Path
) -> None:
    right = wrote(tmp_path, native, "right", report)
    tree = json.loads(right.read_text(encoding="utf-8"))
    tree["cases"][3]["caseId"] = "nope"
    bad = {
        "broken.json": "{",
        "list.json": "[]",
        "foreign.json": '{"model": "x", "results": []}',
        "newer.json": '{"schemaVersion": 9, "provider": "x"}',
        "nan.json": '{"provider": "x", "cases": [NaN]}',
        "case.json": json.dumps(tree),
        "blank.json": "",
    }
    for name, text in bad.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    done = pmb("export", tmp_path, "-o", tmp_path / "out", "--json")
    assert done.code == 1, done
    assert {Path(s["file"]).name for s in done.json["skipped"]} == {*bad, "bytes.json"}
    for name in bad:
        assert f"skipped {tmp_path / name}: " in done.err
    assert done.json["runs"] == 1
    [row] = [r for r in rows_of(strict(tmp_path / "out" / "leaderboard.json")) if r["file"]]
    assert row["provider"] == "bm25"


def test_if_no_report_can_be_used_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    done = pmb("export", tmp_path / "bad.json", "-o", tmp_path / "out")
    assert done.code == 2
    assert "bad.json" in done.err
    assert not (tmp_path / "out").exists()


def test_a_folder_without_a_report_is_named(native: Corpus, report: Report, tmp_path: Path) -> None:
    empty = tmp_path / "nothing"
    empty.mkdir()
    (empty / "notes.txt").write_text("", encoding="utf-8")
    done = pmb("export", empty, "-o", tmp_path / "out")
    assert done.code == 2
    assert f"error: there is no report in {empty}; `pmb run" in done.err
    assert not (tmp_path / "out").exists()
    done = good("export", empty, wrote(tmp_path, native, "r", report), "-o", tmp_path / "out")
    assert f"there is no report in {empty}\n" in done.err
    assert "1 run in " in done.err


def test_a_path_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    done = pmb("export", tmp_path / "none.json", "-o", tmp_path / "out")
    assert done.code == 2
    assert "none.json does not exist" in done.err


def test_other_files_are_left_alone_and_old_reports_go(
    native: Corpus, report: Report, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(Collected([Run(report, native)]), out)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    (out / "reports" / "mine.json").write_text("{}", encoding="utf-8")
    made = export(Collected([Run(ran(native, "fts5"), native)]), out)
    assert [Path(path).name[:4] for path in made.removed] == ["bm25"]
    assert (out / "notes.txt").is_file()
    assert sorted(p.name[:4] for p in (out / "reports").iterdir()) == ["fts5", "mine"]
    with pytest.raises(InputError, match="holds an export of 1; name the reports"):
        export(Collected(), out)
    assert (out / "reports" / "mine.json").is_file()


def test_nothing_of_the_users_is_removed_or_written_over(report: Report, tmp_path: Path) -> None:
    own = tmp_path / "reports"
    own.mkdir()
    for name in ("nightly-202612021039.json", "bm25-0b472c456142.json"):
        (own / name).write_text(report_json(report, load_corpus()), encoding="utf-8")
    kept = tree_of(own)
    good("export", own, "-o", tmp_path)
    assert kept.items() <= tree_of(own).items()
    project = tmp_path / "project"
    project.mkdir()
    (project / "README.md").write_text("mine", encoding="utf-8")
    done = pmb("export", own, "-o", project)
    assert (done.code, "README.md, but no export" in done.err) == (2, True)
    assert tree_of(project) == {"README.md": b"mine"}
    (project / "leaderboard.json").write_text('{"mine": 1}', encoding="utf-8")
    done = pmb("export", own, "-o", project)
    assert (done.code, "is of no export" in done.err) == (2, True)


def test_a_card_that_was_changed_by_hand_is_kept(
    native: Corpus, report: Report, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    collected = Collected([Run(report, native)])
    export(collected, out)
    export(collected, out)
    card = out / "README.md"
    written = card.read_text(encoding="utf-8")
    assert is_own(written)
    assert is_own(written.partition("<!-- as exported")[0])  # as older versions wrote it
    for own in ("# Mine\n", f"{written}\nMore of mine.\n", written.replace("Load it", "Use it")):
        card.write_text(own, encoding="utf-8")
        before = tree_of(out)
        with pytest.raises(InputError, match=r"README\.md is not as an export wrote it: move it"):
            export(Collected([Run(ran(native, "fts5"), native)]), out)
        assert tree_of(out) == before
    card.unlink()
    export(collected, out)
    assert card.read_text(encoding="utf-8") == written


def test_a_page_of_ones_own_is_kept(native: Corpus, report: Report, tmp_path: Path) -> None:
    one, out = wrote(tmp_path, native, "one", report), tmp_path / "out"
    good("export", one, "-o", out, "--static")
    good("export", one, "-o", out, "--static")
    (out / "index.html").write_text("<h1>mine</h1>", encoding="utf-8")
    before = tree_of(out)
    done = pmb("export", one, "-o", out, "--static", "--no-published")
    assert (done.code, "index.html is no page of an export" in done.err) == (2, True)
    assert tree_of(out) == before


def test_a_board_of_another_kind_is_no_export(report: Report, tmp_path: Path) -> None:
    own = {"leaderboard.json": b'{"rows": [], "kind": "mine"}', "README.md": b"mine"}
    for name, data in own.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match="is of no export"):
        export(Collected([Run(report, load_corpus())]), tmp_path)
    assert tree_of(tmp_path) == own


def test_a_folder_in_the_way_is_noticed_before_anything_is_written(
    native: Corpus, report: Report, tmp_path: Path
) -> None:
    (tmp_path / "eval.yaml").mkdir()
    with pytest.raises(InputError, match=r"eval\.yaml is no regular file"):
        export(Collected([Run(report, native)]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["eval.yaml"]


def test_links_in_an_export_are_not_followed(
    native: Corpus, report: Report, tmp_path: Path
) -> None:
    export(Collected([Run(report, native)]), tmp_path / "first")
    export(Collected([Run(report, native)]), tmp_path / "out")
    for path in (tmp_path / "out" / "reports").iterdir():
        path.unlink()
    (tmp_path / "out" / "reports").rmdir()
    (tmp_path / "out" / "reports").symlink_to(tmp_path / "first" / "reports")
    before = tree_of(tmp_path / "first")
    with pytest.raises(InputError, match="is a link"):
        export(Collected([Run(ran(native, "fts5"), native)]), tmp_path / "out")
    assert tree_of(tmp_path / "first") == before
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(InputError, match=r"lead nowhere|is a link|can't write"):
        export(Collected([Run(report, native)]), tmp_path / "a")


def test_a_folder_that_could_not_be_loaded_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "board"
    out.mkdir()
    (out / "board.py").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"board\.py"):
        export(Collected(), out)


def test_a_folder_that_can_t_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = pmb("export", "-o", tmp_path / "file" / "out")
    assert done.code == 2
    assert "file" in done.err


def test_a_provider_of_any_name_is_text(native: Corpus, report: Report, tmp_path: Path) -> None:
    name = "<script>alert(1)</script> | **b** [x](http://e.example) `c` \u202e\n# " + "y" * 300
    export(Collected([Run(replace(report, provider=name), native)]), tmp_path, published=False)
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "<script>" not in card
    [line] = [line for line in card.splitlines() if "alert" in line]
    assert len(re.findall(r"(?<!\\)\|", line)) == 10
    assert not re.search(r"(?<!\\)\]\(", line)
    [file] = (tmp_path / "reports").iterdir()
    assert re.fullmatch(r"[\w.-]+\.json", file.name)
    assert len(good("leaderboard", tmp_path).out) > 0


def test_markdown_text_makes_no_links() -> None:
    assert "://" not in markdown_text("https://e.example", 80)
    assert "www." not in markdown_text("www.e.example", 80)
    assert "@" not in markdown_text("a@e.example", 80)


def test_directories_stand_for_their_reports(
    native: Corpus, report: Report, tmp_path: Path
) -> None:
    first = wrote(tmp_path / "reports", native, "b", report)
    second = wrote(tmp_path / "reports", native, "a", report)
    (tmp_path / "reports" / "notes.txt").write_text("", encoding="utf-8")
    assert files([tmp_path / "reports", first]) == [second, first]


def test_two_halves_of_upstream_are_one_run(report: Report) -> None:
    old = replace(report, upstream=True)
    halves = [replace(old, records=old.cases), replace(old, records=old.turns)]
    [whole] = joined(halves)
    assert whole.records == report.records
    assert len(joined([halves[0], halves[0]])) == 2
    assert len(joined([replace(half, upstream=False) for half in halves])) == 2


def test_corpora_are_found_by_their_hash(native: Corpus, tiny: Corpus) -> None:
    renamed = replace(tiny, name="another-name")
    assert Corpora(load_corpus, [renamed]).find(ran(tiny)) is renamed
    loaded = Corpora(load_corpus)
    assert loaded.find(ran(native)).sha256 == native.sha256
    assert [c.name for c in loaded] == ["native"]


def test_the_board_and_the_rules_are_checked(folder: Path) -> None:
    assert pmb("leaderboard", folder, "--rules", "spek").code == 2
    done = pmb("leaderboard", folder, "--corpus", "nativ")
    assert done.code == 2
    assert "did you mean 'native'" in done.err
    assert pmb("leaderboard", folder / "none").code == 2
    shown = good("leaderboard", folder, "--rules", "upstream-2026-09", "--corpus", "official").out
    assert "tenure · published 2026-09" in shown
    narrow = good("leaderboard", folder, "--corpus", "native", columns=60).out
    assert max(map(len, narrow.splitlines())) <= 60
    view = good("leaderboard", folder, "--json").json
    assert view["rules"] == "spec"
    assert {row["provider"] for row in view["corpora"][0]["rows"]} >= {"bm25", "fts5", "empty"}


def test_other_formats_by_the_command(native: Corpus, report: Report, tmp_path: Path) -> None:
    path = wrote(tmp_path, native, "r", report)
    done = good("export", path, "--format", "trec", "-o", tmp_path / "trec", "--json")
    assert min(done.json["files"]).startswith("qrels/")
    assert pmb("export", path, "--format", "csv", "-o", tmp_path / "x").code == 2
    done = good("export", path, "--format", "eval-results", "--repo", "a/b", "-o", tmp_path / "e")
    assert "names no model repository" in done.err


def test_the_script_is_the_command(native: Corpus, report: Report, tmp_path: Path) -> None:
    path = wrote(tmp_path, native, "r", report)
    script = ROOT / "export" / "export_to_hf.py"
    done = subprocess.run(
        [sys.executable, str(script), str(path)],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done
    assert (tmp_path / "hf_export" / "leaderboard.json").is_file()
    good("export", path, "-o", tmp_path / "other")
    assert tree_of(tmp_path / "hf_export") == tree_of(tmp_path / "other")


def test_published_rows_are_thirteen_systems_twice() -> None:
    tree = board([])
    found = [(row["edition"], row["provider"]) for row in tree["rows"]]
    for edition in ("2026-06", "2026-09"):
        assert len({name for at, name in found if at == edition}) == 13
    assert len(found) == len({row["id"] for row in tree["rows"]}) == 28
    for row in tree["rows"]:
        assert row["source"] == "published by upstream"
        assert row["published"]["url"].startswith("https://github.com/")
        for figures in row["scores"].values():
            assert figures["marks"][0]["text"].endswith("not run by us")
            assert figures["retrieval"]["rank"] is None
    spec = [row for row in tree["rows"] if "spec" in row["scores"]]
    assert len(spec) == 8
    assert all(row["scores"]["spec"]["retrieval"]["summary"]["n_precision"] == 43 for row in spec)


def test_published_figures_are_those_that_were_recomputed(upstream_dir: Path) -> None:
    expected = json.loads((upstream_dir / "expected.json").read_text(encoding="utf-8"))
    for row in board([])["rows"]:
        told = expected.get(f"retrieval-report-{row['provider']}")
        if row["edition"] != "2026-06" or told is None or "spec" not in row["scores"]:
            continue
        june = row["scores"]["upstream-2026-06"]["retrieval"]["summary"]
        assert june["mean_precision"] == told["upstream"]["meanPrecision"]
        assert june["p50_latency_ms"] == told["upstream"]["p50LatencyMs"]
        assert june["passed"] == told["passed"]
        spec = row["scores"]["spec"]["retrieval"]["summary"]
        assert spec["mean_precision"] == told["spec"]["mean_precision"]
        assert spec["abstention_rate"] == told["spec"]["abstention_rate"]
