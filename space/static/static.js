"use strict";
// The static page: state, table and filters. Charts, comparison and cases are board.js's.
(() => {
  const { h, bdi, td, empty, own } = window.PMB;
  const board = JSON.parse(document.getElementById("board-data").textContent);
  const byId = (id) => document.getElementById(id);
  const TABS = { board: "Leaderboard", look: "Look", compare: "Compare", cases: "Cases", about: "About" };
  const FLAGS = { "floor and ceiling": "control", "published by upstream": "published", incomplete: "incomplete", "not comparable": "apart" };
  const MOST = 4;
  const columns = Object.fromEntries(board.columns.map((column) => [column.id, column]));

  // ---- dark and light ----
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const tint = () => document.documentElement.classList.toggle("dark", dark.matches);
  dark.addEventListener("change", tint);
  tint();

  // ---- data ----
  const pool = (index) => board.pool[index];
  const entries = (corpus, rules) => board.rows.filter((row) => row.corpus === corpus && row.rules === rules);
  function answerOf(row, case_) {
    const packed = own(own(board.answers, row.run) || {}, `${case_.case_id}\n${case_.turn ?? ""}`);
    if (!packed) return null;
    const [status, error, passed, latency, relevant, missing, failures, scores] = packed;
    const [precision, recall, drift] = scores[row.rules] || [null, null, null];
    const entry = ([id, mark, note]) => ({ id: pool(id), mark: pool(mark), note: pool(note) });
    return { status: pool(status), error, passed: Boolean(passed), latency, precision, recall, drift,
      relevant: relevant.map(entry), missing: missing.map(entry), failures: failures.map(pool) };
  }

  // ---- state: what the address tells ----
  const state = { corpus: "", rules: "", q: "", view: "compact", sort: board.order, down: false, hidden: [], tab: "board", case: "", providers: [], row: "" };
  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const names = board.corpora.map((corpus) => corpus.id).filter((id) => board.rows.some((row) => row.corpus === id));
    state.corpus = names.includes(given.get("corpus")) ? given.get("corpus") : names[0] || "";
    const sets = rulesOf(state.corpus);
    state.rules = sets.includes(given.get("rules")) ? given.get("rules") : sets[0] || "";
    state.q = (given.get("q") || "").slice(0, 200);
    state.view = given.get("view") === "full" ? "full" : "compact";
    state.sort = Object.hasOwn(columns, given.get("sort")) ? given.get("sort") : board.order;
    state.down = given.get("down") === "1";
    state.hidden = (given.get("hide") || "").split(",").filter((kind) => Object.hasOwn(FLAGS, kind));
    state.tab = Object.hasOwn(TABS, given.get("tab")) ? given.get("tab") : "board";
    state.case = given.get("case") || "";
    state.providers = given.getAll("provider").slice(0, MOST);
  }
  function address() {
    const made = new URLSearchParams();
    const put = (key, value, usual) => { if (value && value !== usual) made.set(key, value); };
    put("corpus", state.corpus); put("rules", state.rules); put("q", state.q); put("view", state.view, "compact");
    put("sort", state.sort, board.order); put("down", state.down ? "1" : ""); put("hide", state.hidden.join(","));
    put("tab", state.tab, "board"); put("case", state.case);
    for (const name of state.providers) made.append("provider", name);
    return `#${made}`;
  }
  function keep() {
    history.replaceState(null, "", address());
  }
  const rulesOf = (corpus) => [...new Set(board.rows.filter((row) => row.corpus === corpus).map((row) => row.rules))];

  function rows() {
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    return entries(state.corpus, state.rules).filter((row) => words.every((word) => row.search.includes(word))
      && !state.hidden.some((kind) => row[FLAGS[kind]]));
  }
  function sorted(found) {
    const column = columns[state.sort];
    const at = board.columns.indexOf(column);
    const sign = (column.better === "higher" ? -1 : 1) * (state.down ? -1 : 1);
    const place = (row, number) => {
      const value = row.values[at];
      return { row, number, last: value === null || value === "" || value === "–", value };
    };
    return found.map(place).sort((a, b) => a.row.control - b.row.control || a.last - b.last
      || (a.last ? 0 : sign * (typeof a.value === "number" ? a.value - b.value : String(a.value).localeCompare(String(b.value)))) || a.number - b.number)
      .map((item) => item.row);
  }
  const shownColumns = () => board.columns.filter((column) => state.view === "full" || column.compact);

  // ---- leaderboard ----
  // The n behind a mean, where its own column is not shown.
  function over(row, column) {
    const n = column.n_id === null ? null : row.values[board.columns.indexOf(columns[column.n_id])];
    return n === null ? null : `n = ${n}`;
  }
  function drawTable() {
    const found = sorted(rows());
    const shown = shownColumns();
    const head = h("tr", {}, shown.map((column) => {
      const direction = (column.better === "higher") !== state.down ? "descending" : "ascending";
      const button = h("button", { type: "button", title: `Sort by ${column.label}${column.definition ? `. ${column.definition}` : ""}`, "aria-label": `Sort by ${column.label}` }, column.head);
      button.addEventListener("click", () => {
        state.down = state.sort === column.id ? !state.down : false;
        state.sort = column.id;
        keep();
        drawTable();
        byId("table").querySelector(`th[data-column="${CSS.escape(column.id)}"] button`).focus();
      });
      return h("th", { scope: "col", class: column.numeric ? "num" : null, "data-column": column.id, "aria-sort": state.sort === column.id ? direction : null }, button);
    }));
    const body = found.map((row) => h("tr", { class: row.control || !row.ranked ? "control" : null }, shown.map((column) => {
      const at = board.columns.indexOf(column);
      if (column.id === "name") {
        const button = h("button", { type: "button", title: row.full }, bdi(row.name));
        button.addEventListener("click", () => tellRow(row));
        return h("th", { scope: "row" }, button);
      }
      return column.numeric ? td(row.shown[at], { title: over(row, column) }) : h("td", { class: column.id === "marks" ? "long" : null }, bdi(row.shown[at]));
    })));
    const table = h("table", { class: "board" }, h("caption", { class: "sr" }, "Leaderboard"), h("thead", {}, head), h("tbody", {}, body));
    byId("table").replaceChildren(found.length ? h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Leaderboard" }, table) : empty("No row fits the filter."));
    const total = entries(state.corpus, state.rules).length;
    byId("shown").querySelector("output").textContent = found.length === total ? `${total} rows` : `${found.length} of ${total} rows`;
    const corpus = board.corpora.find((item) => item.id === state.corpus) || {};
    window.PMB.tell(byId("facts"), {
      facts: [["corpus", corpus.told || state.corpus], ["SHA-256", corpus.sha256 || "not known"], ["rules", state.rules], ["last updated", board.updated || "not told by the export"]],
      notes: [board.note],
    });
  }
  function tellRow(row) {
    window.PMB.tell(byId("row"), { title: row.name, warnings: row.marks, facts: row.facts });
    byId("row").scrollIntoView({ block: "nearest" });
  }
  function csv() {
    const shown = shownColumns();
    const text = (value) => {
      if (value === null) return "";
      if (typeof value === "number") return String(value);
      const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
      return /[",\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
    };
    const value = (row) => (column) => row.values[board.columns.indexOf(column)];
    const [first, ...others] = shown;
    const lines = [[first.id, ...board.identity, ...others.map((column) => column.id)],
      ...sorted(rows()).map((row) => [value(row)(first), ...row.identity, ...others.map(value(row))].map(text))];
    const place = h("a", { href: URL.createObjectURL(new Blob([`${lines.map((line) => line.join(",")).join("\n")}\n`], { type: "text/csv" })), download: "precisionmembench.csv" });
    place.click();
    setTimeout(() => URL.revokeObjectURL(place.href), 1000);
  }

  // ---- pictures ----
  function drawPictures() {
    const found = sorted(rows());
    window.PMB.look(byId("pictures"), { rows: found, categories: [...new Set(found.flatMap((row) => Object.keys(row.categories)))], noise_labels: board.noise_labels, style: board.style, plotly: "" });
  }

  // ---- compare ----
  const answered = () => sorted(entries(state.corpus, state.rules).filter((row) => own(board.answers, row.run)));
  function chosen(most) {
    const known = answered();
    const found = state.providers.map((name) => known.find((row) => row.name === name)).filter(Boolean);
    return found.length ? found : known.slice(0, most);
  }
  const casesOf = (corpus) => (board.corpora.find((item) => item.id === corpus) || {}).cases || [];
  // A generator of its own, so that the same cases give the same interval.
  function random(seed) {
    let a = seed >>> 0;
    return () => {
      a = (a + 0x6d2b79f5) >>> 0;
      let t = Math.imul(a ^ (a >>> 15), a | 1);
      t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  function interval(values) {
    const next = random(1);
    const means = [];
    for (let n = 0; n < 2000; n++) {
      let sum = 0;
      for (let k = 0; k < values.length; k++) sum += values[Math.floor(next() * values.length)];
      means.push(sum / values.length);
    }
    means.sort((a, b) => a - b);
    return [means[50], means[1949]];
  }
  function difference(label, name, pairs) {
    const values = pairs.map(([a, b]) => [a[name], b[name]]).filter(([a, b]) => a !== null && b !== null).map(([a, b]) => [Number(a), Number(b)]);
    if (!values.length) return null;
    const changes = values.map(([a, b]) => b - a);
    const [low, high] = interval(changes);
    const sign = name === "drift" ? -1 : 1;
    const wins = changes.filter((c) => c * sign > 0).length;
    const losses = changes.filter((c) => c * sign < 0).length;
    return { label, n: values.length, a: mean(values.map(([a]) => a)), b: mean(values.map(([, b]) => b)), difference: mean(changes), low, high, wins, losses, ties: values.length - wins - losses };
  }
  function drawComparison() {
    const known = answered();
    const found = chosen(2);
    const form = byId("pair");
    form.replaceChildren(...Array.from({ length: MOST }, (_, n) => {
      const select = h("select", { "aria-label": `System ${n + 1}` }, h("option", { value: "" }, n < 2 ? "choose…" : "none"), known.map((row) => h("option", { value: row.name, selected: found[n] === row }, row.name)));
      return h("label", { class: "grow" }, h("span", {}, `System ${n + 1}`), select);
    }));
    const all = casesOf(state.corpus).map((case_) => [case_, found.map((row) => answerOf(row, case_))]);
    const pairs = [];
    for (let i = 0; i < found.length; i++) {
      for (let j = i + 1; j < found.length; j++) {
        const both = (session) => all.filter(([case_, answers]) => (case_.turn !== null) === session && answers[i] && answers[j]).map(([, answers]) => [answers[i], answers[j]]);
        const measures = [["passed", "pass rate"], ["precision", "precision"], ["recall", "recall"]];
        pairs.push({ a: found[i].name, b: found[j].name, marks: [found[i], found[j]].flatMap((row) => row.marks.map((text) => `${row.name}: ${text}`)),
          measures: [...measures.map(([name, label]) => difference(`Single turn: ${label}`, name, both(false))),
            ...[...measures, ["drift", "drift"]].map(([name, label]) => difference(`Sessions: ${label}`, name, both(true)))].filter(Boolean) });
      }
    }
    const parting = all.map(([case_, answers]) => ({ ...parted(case_), query: case_.info.query, passed: answers.map((found) => found && found.passed) }))
      .filter((item) => item.passed.includes(true) && item.passed.includes(false));
    window.PMB.compare(byId("comparison"), { systems: found, pairs, parting, categories: [...new Set(found.flatMap((row) => Object.keys(row.categories)))], cases: all.filter(([, answers]) => answers.some(Boolean)).length });
  }

  function parted(case_) {
    const full = case_.title + (case_.turn_title ? `, ${case_.turn_title}` : "");
    return case_.turn === null ? { title: case_.title, place: null, full } : { title: case_.title.replace(/ \(session\)$/, ""), place: `turn ${case_.turn}`, full };
  }

  // ---- cases ----
  function drawCase() {
    const all = casesOf(state.corpus);
    const form = byId("one");
    const ids = [...new Set(all.map((case_) => case_.case_id))];
    if (!ids.includes(state.case)) state.case = ids[0] || "";
    const found = chosen(MOST);
    form.elements.case.replaceChildren(...ids.map((id) => h("option", { value: id, selected: id === state.case }, all.find((case_) => case_.case_id === id).title)));
    form.elements.systems.replaceChildren(...answered().map((row) => h("option", { value: row.name, selected: found.includes(row) }, row.name)));
    const turns = all.filter((case_) => case_.case_id === state.case);
    if (!turns.length) {
      window.PMB.cases(byId("case"), { empty: "The export holds no cases of this corpus." });
      return;
    }
    const corpus = board.corpora.find((item) => item.id === state.corpus);
    window.PMB.cases(byId("case"), { ...turns[0], turns: turns.map((case_) => ({
      title: case_.turn_title, info: { ...case_.info, texts: { ...corpus.texts, ...case_.info.texts } },
      answers: found.map((row) => [row, answerOf(row, case_)]).filter(([, answer]) => answer).map(([row, answer]) => ({ name: row.name, ...answer })),
    })) });
  }

  // ---- tabs ----
  const draws = { board: drawTable, look: drawPictures, compare: drawComparison, cases: drawCase, about: () => {} };
  function draw() {
    for (const name of Object.keys(TABS)) {
      const own = name === state.tab;
      byId(`panel-${name}`).hidden = !own;
      const tab = byId(`tab-${name}`);
      tab.setAttribute("aria-selected", String(own));
      tab.tabIndex = own ? 0 : -1;
    }
    draws[state.tab]();
    keep();
  }
  function options(select, items, value) {
    select.replaceChildren(...items.map(([label, id]) => h("option", { value: id, selected: id === value }, label)));
  }
  function fill() {
    const names = board.corpora.filter((corpus) => board.rows.some((row) => row.corpus === corpus.id));
    const form = byId("filter");
    options(form.elements.corpus, names.map((corpus) => [names.filter((c) => c.name === corpus.name).length > 1 ? corpus.id : corpus.name, corpus.id]), state.corpus);
    options(form.elements.rules, rulesOf(state.corpus).map((name) => [name, name]), state.rules);
    form.elements.q.value = state.q;
    byId("shown").elements.view.value = state.view;
    for (const box of byId("shown").querySelectorAll("input[type=checkbox]")) box.checked = !state.hidden.includes(box.name);
  }

  function start() {
    window.PMB.tell(byId("notices"), board.notices);
    if (!board.rows.length) return;
    byId("filter").hidden = false;
    byId("tabs").hidden = false;
    byId("tabs").append(...Object.entries(TABS).map(([name, label]) => {
      const tab = h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}` }, label);
      tab.addEventListener("click", () => { state.tab = name; draw(); });
      return tab;
    }));
    byId("tabs").addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const names = Object.keys(TABS);
      state.tab = names[(names.indexOf(state.tab) + step + names.length) % names.length];
      draw();
      byId(`tab-${state.tab}`).focus();
    });
    byId("shown").querySelector("fieldset").append(...Object.keys(FLAGS).map((kind) =>
      h("label", { class: "check" }, h("input", { type: "checkbox", name: kind }), h("span", {}, kind))));
    byId("filter").addEventListener("input", (event) => {
      const form = event.currentTarget.elements;
      const moved = form.corpus.value !== state.corpus;
      Object.assign(state, { corpus: form.corpus.value, rules: form.rules.value, q: form.q.value });
      if (moved) { state.rules = rulesOf(state.corpus)[0]; state.case = ""; fill(); }
      byId("row").replaceChildren();
      draw();
    });
    byId("shown").addEventListener("input", (event) => {
      state.view = event.currentTarget.elements.view.value;
      state.hidden = [...event.currentTarget.querySelectorAll("input[type=checkbox]")].filter((box) => !box.checked).map((box) => box.name);
      draw();
    });
    byId("pair").addEventListener("input", (event) => {
      state.providers = [...new Set([...event.currentTarget.querySelectorAll("select")].map((select) => select.value).filter(Boolean))];
      if (state.providers.length) draw();
    });
    byId("one").addEventListener("input", (event) => {
      const form = event.currentTarget.elements;
      state.case = form.case.value;
      state.providers = [...form.systems.selectedOptions].map((option) => option.value).slice(0, MOST);
      draw();
    });
    for (const form of document.forms) form.addEventListener("submit", (event) => event.preventDefault());
    byId("csv").addEventListener("click", csv);
    byId("link").addEventListener("click", (event) => {
      keep();
      const button = event.currentTarget;
      const done = () => { button.textContent = "The link is in the address bar"; };
      if (navigator.clipboard) navigator.clipboard.writeText(location.href).then(() => { button.textContent = "Link copied"; }, done);
      else done();
    });
    window.addEventListener("hashchange", () => {
      if (location.hash === "#main") return;
      read(); fill(); draw();
    });
    read();
    fill();
    draw();
  }
  start();
})();
