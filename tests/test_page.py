"""The page of reports: complete, escaped, the same bytes, and honest about what is not known."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from cli_kit import good, pmb
from corpora import files as corpus_files
from corpora import load, write
from hypothesis import given
from hypothesis import strategies as st

from pmb_hf.cli.reporting import joined
from pmb_hf.corpus import load_corpus
from pmb_hf.errors import ReportError
from pmb_hf.pages import charts
from pmb_hf.pages.data import gather
from pmb_hf.pages.markup import Markup, join, json_script, tag, text
from pmb_hf.pages.page import ASSETS, PLOTLY, render
from pmb_hf.providers.registry import create
from pmb_hf.records import NOISE_KINDS
from pmb_hf.report import Report
from pmb_hf.runner import run
from pmb_hf.schema import Corpus

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(2)>",
    "\"'`&lt;b&gt; <b>bold</b> <a href='javascript:alert(3)'>a</a>",
    "\u202egnirts\u2066 lrtd מימין",
    "W" * 300,
    "$0",
    "\ud800 half, \x00 and \x1b[31m",
    "   ",
)
"""Names that a page must show and not obey."""


class Reader(HTMLParser):
    """What a parser sees: elements with their attributes, ids, and the text of each script."""

    VOID = frozenset({"meta", "br", "input"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert not self.open, "not every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} repeats an attribute"
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif not self.open or self.open[-1] != "style":
            self.texts.append(data)

    def all(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for element, attributes in self.elements if element == name]

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus("native")


@pytest.fixture(scope="module")
def report(corpus: Corpus) -> Report:
    return run(create("bm25"), corpus, name="bm25")


@pytest.fixture(scope="module")
def page(report: Report, corpus: Corpus) -> str:
    return render([(report, corpus)])


def figures_of(page: str) -> dict[str, Any]:
    return dict(json.loads(Reader(page).scripts[0]))


def test_the_same_reports_give_the_same_bytes(report: Report, corpus: Corpus, page: str) -> None:
    assert render([(report, corpus)]) == page
    assert "\r" not in page


def test_every_part_is_there(page: str, report: Report) -> None:
    read = Reader(page)
    titles = ("Summary", "Precision and recall", "Length and threshold", "Categories")
    for title in (*titles, "What is wrong", "Latency", "Every measure", "Every case"):
        assert title in read.text
    cases = [a for a in read.all("details") if (a.get("class") or "") == "case"]
    assert len(cases) == len(report.records)
    for record in report.records:
        assert record.case_id in read.text
    assert len(read.all("form")) == 1


def test_every_link_and_label_has_its_target(page: str) -> None:
    read = Reader(page)
    ids = [a["id"] for _, a in read.elements if "id" in a]
    assert len(ids) == len(set(ids))
    links = [a["href"] or "" for a in read.all("a")]
    assert links
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert all(a.get("scope") in ("col", "row", "colgroup") for a in read.all("th"))
    assert all(a.get("aria-label") for a in read.all("div") if a.get("role") in ("img", "region"))


def test_every_chart_has_a_figure_and_a_table(page: str) -> None:
    read, figures = Reader(page), figures_of(page)
    places = [a["data-chart"] for a in read.all("div") if "data-chart" in a]
    assert sorted(figures) == sorted(filter(None, places))
    # Two of precision and recall, four curves, noise, latency.
    assert len(figures) == 8
    for figure in figures.values():
        for trace in figure["data"]:
            assert len(trace["x"]) == len(trace["y"]) > 0
            assert trace["type"] in ("scatter", "bar"), "the smallest bundle draws no others"


def test_nothing_is_loaded_and_only_our_scripts_run(page: str) -> None:
    read = Reader(page)
    policy = next(a["content"] or "" for a in read.all("meta") if "http-equiv" in a)
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
    for element, attributes in read.elements:
        assert element not in ("link", "img", "iframe", "object", "base", "embed", "video")
        assert not [a for a in attributes if a in ("src", "srcset", "action") or a[:2] == "on"]
    assert len(read.scripts) == 3
    assert policy.count("sha256-") == 2


def test_the_chart_library_is_whole_and_licensed() -> None:
    script = (ASSETS / PLOTLY).read_bytes()
    # Of plotly.js-basic-dist-min 4.1.1; design/page.md says how to renew it.
    digest = hashlib.sha256(script).hexdigest()
    assert digest == "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
    assert "MIT License" in (ASSETS / "plotly-LICENSE.txt").read_text(encoding="utf-8")
    for file in (PLOTLY, "page.js"):
        content = (ASSETS / file).read_text(encoding="utf-8").lower()
        assert "</script" not in content
        assert "<!--" not in content


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_provider_is_only_text(name: str, report: Report, corpus: Corpus) -> None:
    plain = Reader(render([(report, corpus)]))
    hostile = replace(report, provider=name)
    made = render([(hostile, corpus)])
    made.encode()
    read = Reader(made)
    # The same elements with the same attributes: nothing of the name became one.
    assert [e for e, _ in read.elements] == [e for e, _ in plain.elements]
    assert [list(a) for _, a in read.elements] == [list(a) for _, a in plain.elements]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\x00\x1b]", made.partition("<script>")[0])


def test_a_hostile_corpus_is_only_text(tmp_path: Path) -> None:
    raw = corpus_files()
    bad = "</script><script>alert('x')</script>\u202e"
    for belief in raw["beliefs.seed.json"]:
        belief["content"] = bad + belief["content"]
    for case in raw["retrieval.cases.json"]:
        case.update(category=bad, description=bad, rationale=bad, notes=bad)
        case["query"] = bad + case["query"] if case["query"].strip() else case["query"]
    for session in raw["session-retrieval.cases.json"]:
        session.update(description=bad)
        for turn in session["turns"]:
            turn.update(label=bad)
    corpus = load(write(tmp_path, raw))
    made = render([(run(create("bm25"), corpus, name=bad), corpus)])
    read = Reader(made)
    assert len(read.scripts) == 3
    assert "alert('x')" in read.text
    assert "\u202e" not in made


@given(st.text())
def test_json_in_a_script_ends_nothing(value: str) -> None:
    made = str(json_script("x", {"a": value}))
    inside = made.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert not set("<>&") & set(inside)
    assert json.loads(inside) == {"a": value}


@given(st.text())
def test_markup_shows_text_as_it_is_and_breaks_nothing(value: str) -> None:
    made = tag("p", value, title=value, hidden=False)
    read = Reader(made)
    assert [name for name, _ in read.elements] == ["p"]
    assert join([value, None, Markup("<br>")]) == text(value) + "<br>"


def test_names_in_charts_keep_both_ends() -> None:
    assert charts.plain("x" * 40 + " #2").endswith("x #2")
    assert "<" not in charts.plain("<a href='x'>")


def test_reports_stand_side_by_side_or_apart(report: Report, corpus: Corpus) -> None:
    other = replace(report, rules="upstream-2026-09")
    twice = gather([(report, corpus), (report, corpus), (other, corpus)])
    assert [[p.label for p in group.panels] for group in twice] == [
        ["bm25 #1", "bm25 #2"],
        ["bm25 #3"],
    ]
    together = gather([(report, corpus), (other, corpus)], "spec")
    assert [len(group.panels) for group in together] == [2]
    made = Reader(render([(report, corpus), (other, corpus)]))
    assert len(made.all("form")) == 2
    ids = [a["id"] for _, a in made.elements if "id" in a]
    assert len(ids) == len(set(ids))


def test_without_sessions_it_says_so(corpus: Corpus) -> None:
    part = run(create("bm25"), corpus, name="bm25", parts=("retrieval",))
    read = Reader(render([(part, corpus)]))
    assert "No session was run." in read.text
    assert "Sessions: every measure" not in read.text


def test_a_control_that_returns_nothing_has_a_page(corpus: Corpus) -> None:
    read = Reader(render([(run(create("empty"), corpus, name="empty"), corpus)]))
    assert "Nothing wrong was returned." in read.text
    assert "nothing was returned, so there is no curve" in read.text


def test_one_row_of_the_heat_map_for_each_category(page: str, report: Report) -> None:
    shades = re.findall(r'style="--share:([0-9.]+)"', page)
    assert len(shades) == len({record.category for record in report.records})
    assert all(0 <= float(shade) <= 1 for shade in shades)


def test_every_kind_of_noise_has_a_pattern() -> None:
    assert len(charts.PATTERNS) == len(NOISE_KINDS)
    looks = {(n % charts.COLOURS, p) for n, p in enumerate(charts.PATTERNS)}
    assert len(looks) == len(NOISE_KINDS)


def test_upstream_reports_say_what_is_not_known(upstream_dir: Path, tmp_path: Path) -> None:
    files = sorted((upstream_dir / "reports").glob("*.json"))
    out = tmp_path / "all.html"
    good("report", *files, "-o", out, "--fixtures", upstream_dir / "fixtures")
    made = out.read_text(encoding="utf-8")
    read = Reader(made)
    assert "no threshold can be tried: the report holds no raw results" in read.text
    assert "not known: the file holds no raw results" in read.text
    assert "not in the tier; why is not known" in read.text
    assert "not among the results" not in read.text
    records = sum(len(report.records) for report in joined(files))
    assert made.count('class="answer"') == records


def test_the_command_writes_a_page(tmp_path: Path, page: str) -> None:
    made = good("run", "--provider", "bm25", "--out", tmp_path / "bm25.json", "--quiet")
    assert made.code == 0
    done = good("report", tmp_path / "bm25.json", "-o", tmp_path / "sub" / "page.html")
    assert "wrote" in done.err
    assert not done.out
    written = (tmp_path / "sub" / "page.html").read_text(encoding="utf-8")
    assert len(Reader(written).elements) == len(Reader(page).elements)


def test_the_command_does_not_write_over_a_report(tmp_path: Path) -> None:
    file = tmp_path / "bm25.json"
    good("run", "--provider", "bm25", "--out", file, "--quiet")
    before = file.read_bytes()
    done = pmb("report", file, "-o", file)
    assert done.code == 2
    assert "is one of the reports" in done.err
    assert file.read_bytes() == before


def test_faults_are_told_in_one_line(tmp_path: Path, report: Report, corpus: Corpus) -> None:
    assert pmb("report", tmp_path / "none.json").code == 2
    with pytest.raises(ValueError, match="no-such"):
        render([(report, corpus)], "no-such")
    with pytest.raises(ReportError, match="was made on corpus"):
        render([(report, load(write(tmp_path)))])
    with pytest.raises(ValueError, match="at least one report"):
        render([])
