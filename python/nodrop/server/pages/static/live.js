// Updates the page of a run with the pieces of HTML and the chart rows that the server sends.
"use strict";

const AGAIN_MS = 3000;
/* Shortest interval between redraws of charts: the browser may run on the machine that measures. */
const FILL_MS = 1000;
const place = document.getElementById("run");
const lost = document.getElementById("lost");
const rows = {};
const views = new Map();
let requested = "";
const due = new Set();
let filled = -Infinity;
let timer = 0;

function isDark() {
  const theme = document.documentElement.dataset.theme;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** Replace a piece; keep the keyboard focus in it. */
function show(name, html) {
  const piece = place.querySelector(`[data-piece="${name}"]`);
  const focused = piece.contains(document.activeElement) ? document.activeElement.textContent : null;
  piece.innerHTML = html;
  if (focused === null) return;
  const same = [...piece.querySelectorAll("a, button")].find((each) => each.textContent === focused);
  (same || document.getElementById("main")).focus({ preventScroll: true });
}

/** Create the charts. Vega interprets expressions, so that no script is generated from text. */
async function draw(names) {
  const request = `${names.join()} ${isDark()}`;
  if (request === requested || !names.length) return;
  requested = request;
  const from = `/runs/${place.dataset.run}/charts?theme=${isDark() ? "dark" : "light"}`;
  const definitions = await fetch(from).then((answer) => (answer.ok ? answer.json() : null)).catch(() => null);
  if (request !== requested) return; // superseded by a later request
  if (!definitions) {
    requested = ""; // the next message retries
    return;
  }
  for (const box of place.querySelectorAll("[data-chart]")) {
    const definition = definitions[box.dataset.chart];
    views.get(box)?.view.finalize();
    views.delete(box);
    box.hidden = !definition;
    if (!definition) continue;
    const canvas = box.querySelector(".canvas");
    const runtime = vega.parse(definition, {}, { ast: true });
    const view = new vega.View(runtime, { expr: vegaInterpreter, renderer: "canvas" });
    view.width(canvas.clientWidth).initialize(canvas);
    views.set(box, { view, names: definition.data.map((data) => data.name).filter((name) => !name.includes("_")) });
  }
  fillSoon(Object.keys(rows));
}

/** Update the charts with new rows. */
async function fill() {
  const changed = [...due];
  due.clear();
  for (const { view, names } of views.values()) {
    const own = names.filter((name) => changed.includes(name));
    for (const name of own) view.data(name, rows[name].map((row) => ({ ...row })));
    if (own.length) await view.runAsync();
  }
}

/** Schedule one redraw for changed rows; none while the page is hidden. */
function fillSoon(changed) {
  for (const name of changed) due.add(name);
  if (document.hidden || timer || !due.size) return;
  const since = performance.now() - filled;
  timer = setTimeout(async () => {
    await fill();
    filled = performance.now();
    timer = 0;
  }, Math.max(0, FILL_MS - since));
}

function resize() {
  for (const [box, { view }] of views) view.width(box.querySelector(".canvas").clientWidth).runAsync();
}

function tick() {
  for (const since of place.querySelectorAll("[data-since]")) {
    const passed = Math.max(0, Math.round((Date.now() - Date.parse(since.dataset.since)) / 1000));
    const minutes = Math.floor(passed / 60);
    since.textContent = minutes ? `${minutes} min ${String(passed % 60).padStart(2, "0")} s` : `${passed} s`;
  }
}

function follow() {
  const source = new EventSource(`/runs/${place.dataset.run}/live`);
  source.addEventListener("open", () => (lost.hidden = true));
  source.addEventListener("pieces", (event) => {
    const message = JSON.parse(event.data);
    for (const [name, html] of Object.entries(message.pieces)) show(name, html);
    Object.assign(rows, message.rows);
    document.title = `${message.headline} · ${place.dataset.title} · nodrop`;
    place.dataset.state = message.state;
    tick();
    draw(message.charts).then(() => fillSoon(Object.keys(message.rows)));
    if (message.over) source.close();
  });
  source.addEventListener("error", () => {
    lost.hidden = false;
    if (source.readyState !== EventSource.CLOSED) return; // it reconnects by itself
    setTimeout(async () => {
      const answer = await fetch(location.href).catch(() => null);
      if (answer?.redirected) location.reload(); // to log in
      else follow();
    }, AGAIN_MS);
  });
}

document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !confirm(question)) event.preventDefault();
});
document.addEventListener("visibilitychange", () => {
  fillSoon([]);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  const shown = [...views.keys()].map((box) => box.dataset.chart);
  if (shown.length) draw(shown);
});
addEventListener("resize", resize);
setInterval(tick, 1000);
tick();
follow();
