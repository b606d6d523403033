"use strict";
(() => {
  const figures = JSON.parse(document.getElementById("figures").textContent);
  const COLOUR_KEYS = new Set(["color", "bgcolor", "bordercolor", "fgcolor"]);
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Set();

  const colour = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  // "$0" to "$6" are series, "$ink" and the like are the page's own colours.
  const resolve = (token) => colour(/^\$\d$/.test(token) ? `--c${token[1]}` : `--${token.slice(1)}`);

  function coloured(value, key) {
    if (Array.isArray(value)) return value.map((item) => coloured(item, key));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, coloured(v, k)]));
    }
    return COLOUR_KEYS.has(key) && typeof value === "string" && value[0] === "$" ? resolve(value) : value;
  }

  const axis = () => ({
    gridcolor: colour("--grid"), zerolinecolor: colour("--grid"), linecolor: colour("--muted"),
    automargin: true, fixedrange: true,
  });

  function layoutOf(layout) {
    const ink = colour("--ink");
    const merged = {
      font: { family: "system-ui, sans-serif", size: 13, color: ink },
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      margin: { l: 56, r: 12, t: 24, b: 48 }, showlegend: true, dragmode: false,
      legend: {
        orientation: "h", x: 0, xref: "container", y: 0, yref: "container", yanchor: "bottom",
        font: { size: 13 }, traceorder: "normal", maxheight: 0.75,
      },
      hoverlabel: { bgcolor: colour("--raised"), bordercolor: colour("--muted"), font: { color: ink } },
      ...coloured(layout),
    };
    merged.xaxis = { ...axis(), ...merged.xaxis };
    merged.yaxis = { ...axis(), ...merged.yaxis };
    return merged;
  }

  // Entries stand in columns of one width; without enough height the legend would scroll.
  function legendHeight(data, width) {
    const longest = Math.max(...data.map((trace) => trace.name.length));
    const columns = Math.max(1, Math.floor(width / (longest * 7 + 48)));
    return 20 * Math.ceil(data.length / columns);
  }

  function draw(place) {
    const figure = figures[place.dataset.chart];
    drawn.add(place);
    const space = 40 + legendHeight(figure.data, place.clientWidth);
    const height = (figure.layout.height || 320) + space;
    place.style.height = `${height}px`;
    Plotly.react(place, coloured(figure.data), { ...layoutOf(figure.layout), height },
      { responsive: true, displayModeBar: false, scrollZoom: false, doubleClick: false });
  }

  const places = [...document.querySelectorAll(".plot")];
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        watcher.unobserve(entry.target);
        draw(entry.target);
      }
    }
  }, { rootMargin: "600px" });
  for (const place of places) watcher.observe(place);
  dark.addEventListener("change", () => drawn.forEach(draw));

  window.addEventListener("beforeprint", () => {
    root.classList.add("printing");
    for (const place of places) if (place.offsetParent) draw(place);
  });
  window.addEventListener("afterprint", () => {
    root.classList.remove("printing");
    drawn.forEach(draw);
  });

  for (const note of document.querySelectorAll(".unscripted")) note.hidden = true;

  const texts = new WeakMap();
  function textOf(item) {
    if (!texts.has(item)) {
      const session = item.closest(".session")?.querySelector("h4").textContent || "";
      texts.set(item, `${session} ${item.textContent}`.toLowerCase());
    }
    return texts.get(item);
  }

  for (const form of document.querySelectorAll("form.filter")) {
    const block = form.parentElement;
    const cases = [...block.querySelectorAll("details.case")];
    const sessions = [...block.querySelectorAll(".session")];
    const output = form.querySelector("output");
    const all = output.textContent;
    form.hidden = false;

    function apply() {
      const fields = new FormData(form);
      const words = fields.get("text").toLowerCase().split(/\s+/).filter(Boolean);
      const category = fields.get("category");
      const report = fields.get("report") || "";
      let shown = 0;
      for (const item of cases) {
        const failed = item.dataset.failed ? item.dataset.failed.split(" ") : [];
        const fits = (!category || item.dataset.category === category)
          && (!fields.has("failed") || (report ? failed.includes(report) : failed.length > 0))
          && (!report || item.dataset.reports.split(" ").includes(report))
          && words.every((word) => textOf(item).includes(word));
        item.hidden = !fits;
        shown += fits;
      }
      for (const session of sessions) {
        session.hidden = !session.querySelector("details.case:not([hidden])");
      }
      output.textContent = shown === cases.length ? all : `${shown} of ${all}`;
    }

    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("click", (event) => {
      const open = event.target.dataset.open;
      if (open !== undefined) for (const item of cases) if (!item.hidden) item.open = open === "1";
    });
    apply();
  }

  // A link to a case opens it.
  function follow() {
    let target = null;
    try { target = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { return; }
    for (let box = target; box; box = box.parentElement) if (box.matches("details")) box.open = true;
    if (target && target.matches("details.case")) target.scrollIntoView();
  }
  window.addEventListener("hashchange", follow);
  follow();
})();
