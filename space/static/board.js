"use strict";
// What the Space and the static page share: charts, comparison and cases, made from JSON.
// All text of data becomes text nodes or attributes; nothing of it is ever read as HTML.
window.PMB = window.PMB || (() => {
  const NONE = "–";
  const PARTS = { retrieval: "Single turn", session: "Sessions" };
  const KINDS = [["active", "active"], ["structural", "structural"], ["trivially_empty", "trivially empty"]];
  const MOST_DRAWN = 24;
  const MOST_LINES = 8;

  // ---- elements ----------------------------------------------------------------------------
  function h(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "style") for (const [k, v] of Object.entries(value)) made.style.setProperty(k, v);
      else made.setAttribute(key, value === true ? "" : String(value));
    }
    for (const child of children.flat(Infinity)) {
      if (child !== null && child !== undefined && child !== false) made.append(child);
    }
    return made;
  }
  // Names of data may be those of an object's own parts, such as "constructor".
  const own = (object, key) => Object.hasOwn(object, key) ? object[key] : undefined;
  const bdi = (text) => h("bdi", {}, String(text));
  const count = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

  // ---- numbers -----------------------------------------------------------------------------
  const fixed = (value, digits = 2) => value === null || value === undefined ? NONE : round(value, digits).toFixed(digits);
  function round(value, digits) {
    const scale = 10 ** digits;
    return Math.sign(value) * Math.round(Math.abs(value) * scale + 1e-9) / scale;
  }
  const signed = (value) => (round(value, 2) > 0 ? "+" : round(value, 2) < 0 ? "−" : "") + Math.abs(round(value, 2)).toFixed(2);
  function ms(value) {
    if (value === null || value === undefined) return NONE;
    if (value >= 99.95) return round(value, 0).toLocaleString("en");
    return fixed(value, value < 9.995 ? 2 : 1);
  }

  // ---- tables ------------------------------------------------------------------------------
  const td = (text, attributes = {}) => h("td", { class: text === NONE ? "num none" : "num", ...attributes }, text);
  function table(caption, heads, rows, options = {}) {
    const [first, ...others] = heads;
    const head = h("tr", {}, h("th", { scope: "col" }, first),
      others.map((text) => h("th", { scope: "col", class: options.text ? null : "num", title: text }, bdi(text))));
    const body = rows.map(([label, cells, kind, full]) => h("tr", { class: kind },
      h("th", { scope: "row", title: full || label }, bdi(label)), cells.map((cell) => cell instanceof Node ? cell : td(cell))));
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      h("table", { class: options.kind }, h("caption", { class: "sr" }, caption), h("thead", {}, head), h("tbody", {}, body)));
  }
  function folded(title, ...content) {
    return h("details", {}, h("summary", {}, title), content);
  }
  function empty(title, below) {
    return h("div", { class: "empty" }, h("strong", {}, title), below || null);
  }

  // ---- plotly ------------------------------------------------------------------------------
  const COLOUR_KEYS = new Set(["color", "bgcolor", "bordercolor", "fgcolor"]);
  const colour = (place, name) => getComputedStyle(place).getPropertyValue(name).trim();
  const resolve = (place, token) => colour(place, /^\$\d$/.test(token) ? `--c${token[1]}` : `--${token.slice(1)}`);
  function coloured(place, value, key) {
    if (Array.isArray(value)) return value.map((item) => coloured(place, item, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloured(place, v, k)]));
    }
    return COLOUR_KEYS.has(key) && typeof value === "string" && value[0] === "$" ? resolve(place, value) : value;
  }
  // Plotly reads a few tags in names; escaped, they are shown as they are. Both ends are kept,
  // since names of similar systems often differ in their last letters.
  function plain(name, most = 24) {
    const letters = [...name];
    const head = Math.ceil(most / 2) + 1;
    const short = letters.length > most ? [...letters.slice(0, head), "…", ...letters.slice(head + 1 - most)].join("") : name;
    return short.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  }
  function layoutOf(place, layout) {
    const ink = colour(place, "--ink");
    const axis = {
      gridcolor: colour(place, "--grid"), zerolinecolor: colour(place, "--grid"),
      linecolor: colour(place, "--muted"), automargin: true, fixedrange: true,
    };
    const merged = {
      font: { family: "system-ui, sans-serif", size: 13, color: ink },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 56, r: 12, t: 12, b: 48 }, showlegend: true, dragmode: false,
      legend: {
        orientation: "h", x: 0, xref: "container", y: 0, yref: "container", yanchor: "bottom",
        font: { size: 13 }, traceorder: "normal", maxheight: 0.75, itemsizing: "constant",
      },
      hoverlabel: { bgcolor: colour(place, "--raised"), bordercolor: colour(place, "--muted"), font: { color: ink } },
      ...coloured(place, layout),
    };
    merged.xaxis = { ...axis, ...merged.xaxis };
    merged.yaxis = { ...axis, ...merged.yaxis };
    return merged;
  }
  let loading = null;
  function plotly(address) {
    if (window.Plotly) return Promise.resolve(window.Plotly);
    loading = loading || new Promise((done, failed) => {
      if (!address) {  // it is part of the page, after this script
        window.addEventListener("load", () => done(window.Plotly));
        return;
      }
      const script = h("script", { src: address });
      script.onload = () => done(window.Plotly);
      script.onerror = () => failed(new Error(`${address} can't be loaded`));
      document.head.append(script);
    });
    return loading;
  }
  const drawn = new Set();
  function draw(place) {
    const { data, layout } = place.figure;
    const legend = layout.showlegend === false ? [] : data.filter((t) => t.showlegend !== false && t.name);
    const longest = Math.max(0, ...legend.map((trace) => trace.name.length));
    const columns = Math.max(1, Math.floor(place.clientWidth / (longest * 7 + 48)));
    const height = (layout.height || 320) + (legend.length ? 40 + 20 * Math.ceil(legend.length / columns) : 20);
    place.style.height = `${height}px`;
    place.style.minHeight = "0";
    const drawing = { ...layoutOf(place, layout), height };
    // Names of rows: on a narrow screen they are cut shorter, so that the bars keep their room.
    if (layout.rowNames) {
      drawing.yaxis = { ...drawing.yaxis, range: [-0.6, layout.rowNames.length - 0.4], tickvals: layout.rowNames.map((_, n) => n),
        ticktext: layout.rowNames.map((name) => plain(name, place.clientWidth < 500 ? 14 : 24)) };
      delete drawing.rowNames;
    }
    window.Plotly.react(place, coloured(place, data), drawing,
      { responsive: true, displayModeBar: false, scrollZoom: false, doubleClick: false });
    drawn.add(place);
  }
  function redraw() {
    for (const place of drawn) place.isConnected ? draw(place) : drawn.delete(place);
  }
  new MutationObserver(redraw).observe(document.documentElement, { attributes: true, attributeFilter: ["class"] });
  document.addEventListener("DOMContentLoaded", () => {
    new MutationObserver(redraw).observe(document.body, { attributes: true, attributeFilter: ["class"] });
  });

  // ---- charts ------------------------------------------------------------------------------
  function figure(title, words, made, alternative, options = {}) {
    const place = made && h("div", { class: "plot", role: "img", "aria-label": words });
    if (place) place.figure = made;
    return h("figure", { class: options.whole ? "whole" : null },
      h("figcaption", {}, title), options.note ? h("p", { class: "note" }, options.note) : null,
      place || empty(words),
      place && alternative ? folded("The same as a table", alternative) : null);
  }
  const mark = (style, place) => ({ color: `$${place % style.colours}`, symbol: style.symbols[place % style.symbols.length] });
  const pattern = (style, place) => ({
    shape: style.patterns[place % style.patterns.length], fillmode: "overlay", fgcolor: "$paper", size: 8, solidity: 0.2,
  });
  // Bars from top to bottom; plotly counts from below. Axis labels by position: two names
  // that are cut to the same text stay apart.
  function bars(rows, series, style, xTitle) {
    const shown = [...rows].reverse();
    return {
      data: series.map(([label, value], place) => ({
        type: "bar", orientation: "h", name: label, y: shown.map((_, n) => n), x: shown.map(value),
        marker: { color: `$${place % style.colours}`, line: { color: "$paper", width: 1 }, pattern: pattern(style, place) },
        hovertemplate: `%{x} ${label}<extra></extra>`,
      })),
      layout: {
        barmode: "stack", height: 90 + 30 * shown.length, hovermode: "y",
        xaxis: { title: { text: xTitle }, rangemode: "tozero" },
        rowNames: shown.map((row) => row.name),
      },
    };
  }

  function precisionRecall(rows, part, style) {
    const found = rows.filter((row) => row.parts[part] && row.parts[part].mean_precision !== null && row.parts[part].mean_recall !== null);
    const title = `${PARTS[part]}: precision against recall`;
    if (!found.length) return figure(title, "No system has both figures.");
    const slowest = Math.max(...found.map((row) => row.parts[part].p50_latency_ms || 0));
    const data = found.map((row, place) => {
      const s = row.parts[part];
      const timed = !row.control && s.p50_latency_ms !== null && slowest > 0;
      // Area follows the latency; what was not timed is drawn small and filled.
      const size = timed ? 9 + 23 * Math.sqrt(s.p50_latency_ms / slowest) : 7;
      const { color, symbol } = row.control ? { color: "$muted", symbol: style.symbols[place % style.symbols.length] } : mark(style, row.place);
      return {
        type: "scatter", mode: "markers", name: plain(row.name), x: [s.mean_recall], y: [s.mean_precision],
        marker: { color, size, symbol: row.control ? symbol : `${symbol}-open`, line: { width: 2.5, color } },
        hovertemplate: `precision %{y:.2f}<br>recall %{x:.2f}<br>p50 ${ms(s.p50_latency_ms)} ms`,
      };
    });
    const axis = { range: [-0.05, 1.08], dtick: 0.2, tickformat: ".1f" };
    const made = { data, layout: { xaxis: { ...axis, title: { text: "recall" } }, yaxis: { ...axis, title: { text: "precision" } } } };
    return figure(title, `${title}, a mark for each system; up and right is better, a larger mark is slower.`, made,
      table(title, ["System", "precision", "n", "recall", "n", "p50 ms"], found.map((row) => {
        const s = row.parts[part];
        return [row.name, [fixed(s.mean_precision), String(s.n_precision ?? NONE), fixed(s.mean_recall), String(s.n_recall ?? NONE), ms(s.p50_latency_ms)], row.control ? "control" : null];
      })), { note: "The size of a mark tells the median latency." });
  }

  function heat(all, categories) {
    const rows = all.filter((row) => Object.keys(row.categories).length);
    if (!rows.length) return figure("Passed cases by category", "No row tells passes by category.", null, null, { whole: true });
    const cells = (of, row) => {
      const found = own(row.categories, of);
      if (!found || !found[1]) return td(NONE);
      return h("td", { style: { "--share": (found[0] / found[1]).toFixed(3) } }, h("span", {}, String(found[0])), h("small", {}, `of ${found[1]}`));
    };
    const title = "Passed cases by category";
    return h("figure", { class: "whole" }, h("figcaption", {}, title), table(title, ["Category", ...rows.map((row) => row.name)],
      categories.map((category) => [category, rows.map((row) => cells(category, row))]), { kind: rows.length > 6 ? "heat many" : "heat" }));
  }

  function kinds(rows, style) {
    const found = rows.filter((row) => row.parts.retrieval);
    const title = "Single turn: passes by kind";
    if (!found.length) return figure(title, "No system has run the single-turn cases.");
    const of = (row, key) => row.parts.retrieval[`passed_${key}`] ?? 0;
    return figure(title, `${title}: active, structural and trivially empty.`,
      bars(found, KINDS.map(([key, label]) => [label, (row) => of(row, key)]), style, "passed cases"),
      table(title, ["System", ...KINDS.map(([, label]) => label), "passed"], found.map((row) => [row.name,
        [...KINDS.map(([key]) => String(of(row, key))), `${row.parts.retrieval.passed} of ${row.parts.retrieval.cases}`], row.control ? "control" : null])));
  }

  function noise(rows, kindLabels, style) {
    const title = "Wrong beliefs by kind";
    const present = Object.keys(kindLabels).filter((kind) => rows.some((row) => row.noise && row.noise[kind]));
    const found = rows.filter((row) => row.noise);
    if (!present.length) return figure(title, "No wrong belief was returned.");
    const series = present.map((kind) => [kindLabels[kind], (row) => row.noise[kind] || 0]);
    return figure(title, `${title}, a bar for each system.`, bars(found, series, style, "wrongly returned beliefs"),
      table(title, ["System", ...present.map((kind) => kindLabels[kind])], found.map((row) => [row.name,
        present.map((kind) => String(row.noise[kind] || 0)), row.control ? "control" : null])));
  }

  function latency(rows) {
    const title = "Single turn: latency of a search";
    const found = rows.filter((row) => !row.control && row.parts.retrieval && row.parts.retrieval.p50_latency_ms !== null);
    if (!found.length) return figure(title, "No search was timed.");
    const shown = [...found].reverse();
    const at = (key, row) => Math.max(row.parts.retrieval[key] ?? row.parts.retrieval.p50_latency_ms, 0.001);
    const all = found.flatMap((row) => [at("p50_latency_ms", row), at("p95_latency_ms", row)]);
    const decades = [Math.floor(Math.log10(Math.min(...all))), Math.ceil(Math.log10(Math.max(...all)) + 0.001)];
    const steps = decades[1] - decades[0] > 2 ? [1] : [1, 2, 5];
    const tickvals = [];
    for (let decade = decades[0]; decade <= decades[1]; decade++) for (const step of steps) tickvals.push(Number(`${step}e${decade}`));
    const ticks = { tickvals, ticktext: tickvals.map((value) => value.toLocaleString("en", { maximumFractionDigits: 6 })) };
    const gaps = { x: [], y: [] };
    shown.forEach((row, n) => { gaps.x.push(at("p50_latency_ms", row), at("p95_latency_ms", row), null); gaps.y.push(n, n, null); });
    const point = (key, label, symbol, colour) => ({
      type: "scatter", mode: "markers", name: label, x: shown.map((row) => at(key, row)), y: shown.map((_, n) => n),
      marker: { color: colour, symbol, size: 10 }, hovertemplate: `${label} %{x:.3g} ms<extra></extra>`,
    });
    const made = {
      data: [
        { type: "scatter", mode: "lines", ...gaps, line: { color: "$muted", width: 2 }, showlegend: false, hoverinfo: "skip" },
        point("p50_latency_ms", "p50", "circle", "$0"), point("p95_latency_ms", "p95", "diamond", "$1"),
      ],
      layout: {
        height: 90 + 30 * shown.length,
        xaxis: { type: "log", title: { text: "ms (logarithmic)" }, ...ticks, range: decades },
        rowNames: shown.map((row) => row.name),
      },
    };
    return figure(title, `${title}: p50 and p95 for each system, further left is faster.`, made,
      table(title, ["System", "p50 ms", "p95 ms", "n"], found.map((row) => {
        const s = row.parts.retrieval;
        return [row.name, [ms(s.p50_latency_ms), ms(s.p95_latency_ms), String(s.n_latency ?? NONE)]];
      })), { whole: true });
  }

  function drift(rows, style) {
    const title = "Sessions: drift, turn by turn";
    const found = rows.filter((row) => row.turns && row.turns.length);
    if (!found.length) return figure(title, "No system has run the sessions.", null, null, { whole: true });
    const sessions = [...new Set(found.flatMap((row) => row.turns.map((turn) => turn.session)))];
    const turns = sessions.flatMap((session) => {
      const numbers = [...new Set(found.flatMap((row) => row.turns.filter((t) => t.session === session).map((t) => t.turn)))];
      return numbers.sort((a, b) => a - b).map((turn) => ({ session, turn }));
    });
    const value = (row, at) => row.turns.find((t) => t.session === at.session && t.turn === at.turn)?.drift ?? null;
    const lines = found.filter((row) => !row.control).slice(0, MOST_LINES);
    const label = (at) => sessions.length > 1 ? `${sessions.indexOf(at.session) + 1}.${at.turn}` : String(at.turn);
    const data = lines.map((row, n) => {
      const { color, symbol } = mark(style, row.place);
      // The first are drawn larger and all are open: two at one spot are both seen.
      const size = 8 + 2 * (lines.length - n);
      return {
        type: "scatter", mode: "lines+markers", name: plain(row.name), x: turns.map((_, n) => n), y: turns.map((at) => value(row, at)),
        line: { color, width: 2, dash: style.dashes[Math.floor(row.place / style.colours) % style.dashes.length] },
        marker: { color, symbol: `${symbol}-open`, size, line: { width: 2, color } }, hovertemplate: "drift %{y:.2f}",
      };
    });
    const edges = turns.map((at, n) => (n && at.session !== turns[n - 1].session ? n - 0.5 : null)).filter((n) => n !== null);
    const made = {
      data, layout: {
        hovermode: "closest", shapes: edges.map((x) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line: { color: "$muted", dash: "dot", width: 1 } })),
        xaxis: { tickvals: turns.map((_, n) => n), ticktext: turns.map(label), title: { text: sessions.length > 1 ? "session.turn" : "turn" } },
        yaxis: { range: [-0.05, 1.08], tickformat: ".1f", title: { text: "drift" } },
      },
    };
    const left = found.filter((row) => !row.control).length - lines.length;
    return figure(title, `${title}, a line for each system; lower is better. A gap is a turn that returned nothing.`,
      lines.length ? made : null, table(title, ["System", ...turns.map(label)],
        found.map((row) => [row.name, turns.map((at) => fixed(value(row, at))), row.control ? "control" : null])),
      { whole: true, note: `A gap is a turn at which nothing was returned.${left > 0 ? ` The first ${lines.length} systems are drawn; all are in the table.` : ""}` });
  }

  /** Draws all charts of `payload`: {rows, categories, noise_labels, style, plotly}. */
  function look(root, payload) {
    if (!payload || !payload.rows) { root.replaceChildren(); return Promise.resolve(); }
    const all = payload.rows;
    const systems = all.filter((row) => !row.control).slice(0, MOST_DRAWN);
    systems.forEach((row, place) => { row.place = place; });
    const rows = [...systems, ...all.filter((row) => row.control)];
    const blocks = [];
    const total = all.filter((row) => !row.control).length;
    if (!rows.length) {
      root.replaceChildren(empty("No system to draw.", "The filter of the leaderboard hides all of them."));
      return Promise.resolve();
    }
    if (total > systems.length) {
      blocks.push(h("p", { class: "note" }, `The first ${systems.length} of ${total} systems are drawn; filter the leaderboard to see others.`));
    }
    const parts = Object.keys(PARTS).filter((part) => rows.some((row) => row.parts[part]));
    blocks.push(h("div", { class: "charts" },
      parts.map((part) => precisionRecall(rows, part, payload.style)),
      heat(rows, payload.categories), kinds(rows, payload.style), noise(rows, payload.noise_labels, payload.style),
      drift(rows, payload.style), latency(rows)));
    root.replaceChildren(...blocks);
    return plotly(payload.plotly).then(() => {
      const watcher = new IntersectionObserver((entries) => {
        for (const entry of entries) {
          if (entry.isIntersecting) { watcher.unobserve(entry.target); draw(entry.target); }
        }
      }, { rootMargin: "600px" });
      for (const place of root.querySelectorAll(".plot")) watcher.observe(place);
    }).catch((error) => root.prepend(h("p", { class: "warn" }, `No chart can be drawn: ${error.message}. The tables say the same.`)));
  }

  // ---- comparison --------------------------------------------------------------------------
  function byCategory(payload) {
    const title = "Passed cases by category";
    return [h("h3", {}, title), table(title, ["Category", ...payload.systems.map((s) => s.name)], payload.categories.map((category) => [category,
      payload.systems.map((s) => {
        const found = own(s.categories, category);
        return found ? h("td", { style: { "--share": (found[0] / found[1]).toFixed(3) } }, h("span", {}, String(found[0])), h("small", {}, `of ${found[1]}`)) : td(NONE);
      })]), { kind: "heat" })];
  }
  function differences(payload) {
    const blocks = [h("h3", {}, "Paired differences"), h("p", { class: "note" },
      "Case by case, second minus first; only cases that both have. The interval holds the true difference in 95 of 100 samples of cases (bootstrap). W, L, T: cases in which the second is better, worse, alike.")];
    for (const pair of payload.pairs) {
      const title = `${pair.b} − ${pair.a}`;
      const rows = pair.measures.map((m) => [m.label, [String(m.n), fixed(m.a), fixed(m.b),
        h("td", { class: "num" }, h("strong", {}, signed(m.difference))), `${signed(m.low)} to ${signed(m.high)}`,
        `${m.wins}/${m.losses}/${m.ties}`, h("td", { class: m.low > 0 || m.high < 0 ? "" : "none" }, m.low > 0 || m.high < 0 ? "clear" : "not clear")]]);
      blocks.push(h("h4", {}, bdi(pair.b), "against", bdi(pair.a)));
      for (const text of pair.marks) blocks.push(h("p", { class: "warn" }, text));
      blocks.push(rows.length ? table(title, ["Measure", "n", "first", "second", "difference", "95 % interval", "W/L/T", ""], rows)
        : h("p", { class: "note" }, "No case is in both."));
    }
    return blocks;
  }
  function parting(payload) {
    const title = "Cases in which they part";
    const blocks = [h("h3", {}, title)];
    if (!payload.parting.length) return [...blocks, h("p", { class: "note" }, "They pass and fail the same cases.")];
    const verdict = (passed) => passed === null ? h("td", { class: "none" }, NONE)
      : h("td", {}, h("span", { class: `badge ${passed ? "good" : "bad"}` }, passed ? "✓ passed" : "✗ failed"));
    blocks.push(h("p", { class: "note" }, `${count(payload.parting.length, "case")} of ${payload.cases}.`));
    blocks.push(table(title, ["Case", ...payload.systems.map((s) => s.name), "Query"],
      payload.parting.map((c) => [c.place ? `${c.title}, ${c.place}` : c.title, [...c.passed.map(verdict), h("td", {}, c.query === null ? NONE : c.query.trim() ? bdi(c.query) : h("em", {}, "blank"))], null, c.full]), { text: true, kind: "wide" }));
    return blocks;
  }
  // The board has changed since the page was opened.
  const left = (payload) => (payload && payload.left || []).map((name) =>
    h("p", { class: "warn" }, bdi(name), " is no longer on the board; reload the page to choose among the systems of now."));
  /** Shows {systems, categories, pairs, parting, cases, left: names that are not on the board}. */
  function compare(root, payload) {
    if (!payload || !payload.systems || payload.systems.length < 2) {
      root.replaceChildren(...left(payload), empty("Choose two to four systems.", "They are compared case by case."));
      return;
    }
    root.replaceChildren(...left(payload), ...byCategory(payload), ...differences(payload), ...parting(payload));
  }

  // ---- cases -------------------------------------------------------------------------------
  function belief(id, texts) {
    const text = own(texts, id);
    return [h("code", {}, bdi(id)), " ", text === undefined || text === null ? null
      : h("span", { class: "text", dir: "auto" }, text)];
  }
  function asked(info) {
    const rows = [];
    const add = (label, ...value) => rows.push(h("dt", {}, label), h("dd", {}, ...value));
    if (info.description) add("about", info.description);
    if (info.query === null) add("query", h("em", {}, "not in the export; the corpus belongs to others"));
    else add("query", info.query.trim() ? bdi(info.query) : h("em", {}, "blank"));
    add("scopes", info.scopes.length ? bdi(info.scopes.join(", ")) : "none");
    if (info.user) add("user", bdi(info.user));
    if (info.budget !== null && info.budget !== undefined) add("budget", count(info.budget, "belief"));
    for (const [label, value] of info.expected) {
      if (!Array.isArray(value)) add(label, value);
      else add(label, value.length ? h("ul", { class: "beliefs" }, value.map((id) => h("li", {}, belief(id, info.texts)))) : h("em", {}, "nothing"));
    }
    if (info.why) add("why", info.why);
    if (info.notes) add("notes", info.notes);
    if (info.kind) add("kind", info.kind);
    return h("dl", { class: "asked" }, rows);
  }
  function line(entry, texts, tone) {
    const below = [entry.note, entry.score === null || entry.score === undefined ? null : `score ${Number(entry.score).toPrecision(3)}`].filter(Boolean);
    return h("li", {}, h("div", { class: "line" }, h("span", { class: `kind ${tone}` }, entry.mark),
      h("span", {}, belief(entry.id, texts), below.length ? h("small", {}, ` ${below.join(" · ")}`) : null)));
  }
  const tone = (mark) => mark === "needed" ? "good" : mark === "not asked for" ? "other" : mark === "missing" ? "warn" : "bad";
  function answer(found, texts) {
    const facts = [found.precision === null ? null : `precision ${fixed(found.precision)}`, found.recall === null ? null : `recall ${fixed(found.recall)}`,
      found.drift === null || found.drift === undefined ? null : `drift ${fixed(found.drift)}`,
      found.latency === null ? null : `${ms(found.latency)} ms`].filter(Boolean);
    const blocks = [h("h4", {}, bdi(found.name), h("span", { class: `badge ${found.passed ? "good" : "bad"}` }, found.passed ? "✓ passed" : "✗ failed"), h("small", {}, facts.join(" · ")))];
    if (found.status !== "ok") blocks.push(h("p", { class: "bad" }, `No answer (${found.status})${found.error ? `: ${found.error}` : ""}`));
    else if (!found.relevant.length) blocks.push(h("p", { class: "note" }, "Nothing was returned."));
    if (found.relevant.length) blocks.push(h("ol", { class: "lines" }, found.relevant.map((entry) => line(entry, texts, tone(entry.mark)))));
    if (found.missing.length) blocks.push(h("h5", {}, "Missing"), h("ul", { class: "lines" }, found.missing.map((entry) => line(entry, texts, "warn"))));
    if (found.failures.length) blocks.push(folded(count(found.failures.length, "failed assertion"), h("ul", { class: "failures" }, found.failures.map((text) => h("li", {}, text)))));
    return h("section", { class: `answer ${found.passed ? "passed" : "failed"}`, "aria-label": `Answer of ${found.name}` }, blocks);
  }
  /** Shows {title, category, description, turns: [{info, answers}], left}; a case has one turn. */
  function cases(root, payload) {
    if (!payload || !payload.turns) {
      root.replaceChildren(empty(payload && payload.empty ? payload.empty : "Choose a case.", payload && payload.below));
      return;
    }
    const blocks = [...left(payload), h("h3", {}, bdi(payload.title), payload.category ? h("small", {}, ` ${payload.category}`) : null)];
    if (payload.description) blocks.push(h("p", { class: "note" }, payload.description));
    for (const turn of payload.turns) {
      const content = [asked(turn.info), turn.answers.length ? h("div", { class: "answers" }, turn.answers.map((found) => answer(found, turn.info.texts)))
        : h("p", { class: "note" }, "No chosen system has answered it.")];
      blocks.push(turn.title ? h("section", { class: "turn" }, h("h4", {}, bdi(turn.title)), content) : content);
    }
    root.replaceChildren(...blocks.flat());
  }

  // ---- sentences ---------------------------------------------------------------------------
  /** Shows {title, facts: [[label, value]], warnings: [..], errors: [..], notes: [..]}. */
  function tell(root, payload) {
    if (!payload) { root.replaceChildren(); return; }
    const blocks = [];
    if (payload.empty) blocks.push(empty(payload.empty, payload.command ? h("code", {}, payload.command) : payload.below));
    if (payload.title) blocks.push(h("h3", {}, bdi(payload.title)));
    for (const text of payload.errors || []) blocks.push(h("p", { class: "bad", role: "alert" }, text));
    for (const text of payload.warnings || []) blocks.push(h("p", { class: "warn" }, text));
    if (payload.facts && payload.facts.length) {
      blocks.push(h("dl", { class: "asked" }, payload.facts.map(([label, value]) => [h("dt", {}, label), h("dd", {}, bdi(value))])));
    }
    for (const text of payload.notes || []) blocks.push(h("p", { class: "note" }, text));
    root.replaceChildren(...blocks);
  }

  return { h, own, bdi, table, td, empty, count, fixed, signed, ms, look, compare, cases, tell, redraw, NONE, PARTS };
})();
