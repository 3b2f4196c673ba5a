// The page: reads the trace, draws when something has changed, and turns keys and mouse into changes.

const model = await readModel();
const view = viewOf(model);
let scheduled = false,
  numbers = 0;

function changed() {
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(draw);
}

function draw() {
  scheduled = false;
  drawBlocks(model, view, byId("rows").scrollTop);
  drawRuler(model, view);
  drawOverview(model, view);
  clearTimeout(numbers);
  numbers = setTimeout(() => showNumbers(model, view), 60);
}

function arrange() {
  view.shares = view.hitPlaces = null;
  layOut(model, view);
  byId("sheet").style.height = `${Math.max(view.total, view.height)}px`;
  fillGutter();
  changed();
}

// As wide as the longest name, but no wider than a third of the page: the rest of it shows when pointed at.
function widenGutter() {
  const pen = document.createElement("canvas").getContext("2d"),
    { fontSize, fontFamily } = getComputedStyle(byId("gutter"));
  pen.font = `${fontSize} ${fontFamily}`;
  let width = 0;
  for (const name of new Set(model.rows.map((row) => row.name))) width = Math.max(width, pen.measureText(name).width);
  document.documentElement.style.setProperty("--gutter", `max(148px, min(${Math.ceil(width) + 70}px, 33vw))`);
}

function resize() {
  const rows = byId("rows"),
    gutter = byId("gutter").offsetWidth;
  view.width = Math.max(80, rows.clientWidth - gutter);
  view.height = Math.max(60, rows.clientHeight);
  arrange();
}

// Names of the rows; a processor's name folds its rows.
function fillGutter() {
  const parts = [];
  let before,
    free = 0;
  model.rows.forEach((row, index) => {
    const place = view.places[index];
    if (row.group && row.group !== before && place.y >= free) {
      parts.push(processorName(row, place));
      free = place.y + 14;
    }
    before = row.group;
    if (place.main >= 11 || (!row.group && place.y >= free)) {
      if (!row.group) free = place.y + 14;
      parts.push(
        at(
          element("span", row.name, { class: "thread", title: row.where }),
          place.y,
          Math.max(12, place.main),
        ),
      );
    }
    for (const { series, y, height } of place.series) {
      const text = series.name === "memory" ? `memory ≤ ${bytes(series.peak)}` : `queues ≤ ${series.peak}`;
      parts.push(at(element("span", text, { class: "lane" }), y, height));
    }
  });
  byId("gutter").replaceChildren(...parts);
}

function processorName(row, place) {
  const open = !view.folded.has(row.group);
  const made = element("button", row.group, {
    type: "button",
    class: "processor",
    "aria-expanded": open,
    title: "Fold or unfold its rows",
  });
  made.onclick = () => {
    if (open) view.folded.add(row.group);
    else view.folded.delete(row.group);
    arrange();
  };
  return at(made, place.y, Math.max(14, place.main));
}

function at(made, y, height) {
  made.style.top = `${y}px`;
  made.style.height = made.style.lineHeight = `${height}px`;
  return made;
}

function select(entry) {
  view.selected = entry;
  view.tph = entry === null ? 0 : model.tph[entry];
  view.tphList = [];
  view.tphEntries = [];
  if (view.tph) collectTph();
  const card = byId("selected");
  card.replaceChildren(
    ...(entry === null ? [] : [element("h3", "Selected"), describe(model, view, inBase(entry))]),
  );
  changed();
}

function inBase(entry) {
  const lane = laneOf(model, entry);
  return { level: model.base, entry, lane, row: model.lanes[lane].row };
}

// The blocks of the chosen TPH, lane by lane.
function collectTph() {
  model.lanes.forEach((_, lane) => {
    const from = view.tphList.length;
    for (let i = model.base.from[lane]; i < model.base.from[lane + 1]; i++) {
      if (model.tph[i] === view.tph) view.tphList.push(i);
    }
    view.tphEntries.push({ lane, from, to: view.tphList.length });
  });
}

// Puts a block into the middle of the window, long enough to be seen.
function reveal(entry, always = false) {
  const begin = model.base.start[entry],
    end = model.base.end[entry],
    length = end - begin;
  const width = length * pixels(view),
    middle = (begin + end) / 2;
  let shown = view.end - view.begin;
  if (always || width < 6 || width > view.width * 0.6) shown = Math.max(length * (always ? 1.6 : 12), 200);
  look(model, view, middle - shown / 2, middle + shown / 2);
  const place = view.places[inBase(entry).row],
    rows = byId("rows");
  if (place.y < rows.scrollTop || place.y + place.height > rows.scrollTop + view.height) {
    rows.scrollTop = place.y - view.height / 2;
  }
  changed();
}

function search() {
  view.found = findEntries(model, byId("query").value);
  view.hits = outlined(model, view.found);
  view.hitPlaces = null;
  view.current = -1;
  showHits();
  changed();
}

function showHits() {
  const empty = !byId("query").value.trim(),
    hits = view.found.length;
  byId("hits").textContent = empty
    ? ""
    : !hits
      ? "no hit"
      : view.current < 0
        ? counted(hits, "hit")
        : `${view.current + 1} of ${hits.toLocaleString("en")}`;
}

// From hit to hit; the first one is the next after the window's begin.
function jump(step) {
  const hits = view.found.length;
  if (!hits) return;
  if (view.current < 0) {
    const ahead = view.found.findIndex((entry) => model.base.start[entry] >= view.begin);
    view.current = ahead < 0 ? 0 : step < 0 ? (ahead - 1 + hits) % hits : ahead;
  } else view.current = (view.current + step + hits) % hits;
  select(view.found[view.current]);
  reveal(view.selected);
  showHits();
}

function neighbour(step) {
  if (view.selected === null) return;
  const lane = laneOf(model, view.selected),
    next = view.selected + step;
  if (next < model.base.from[lane] || next >= model.base.from[lane + 1]) return;
  select(next);
  reveal(next);
}

// A link may say what to look at: #from=NS&until=NS&rank=R, the time since the run's begin.
function followLink() {
  const asked = new URLSearchParams(location.hash.slice(1)),
    from = Number(asked.get("from")),
    until = Number(asked.get("until"));
  if (!(until > from)) return;
  const row = model.rows.findIndex((each) => String(each.rank) === asked.get("rank")),
    chosen = blockAt(row, from, until);
  if (chosen !== null) select(chosen);
  look(model, view, from - 0.5 * (until - from), until + 0.5 * (until - from));
  if (row >= 0) byId("rows").scrollTop = view.places[row].y - view.height / 2;
  changed();
}

// The block of a row that lies the most exactly in a time.
function blockAt(row, from, until) {
  let best = null,
    least = Infinity;
  for (const lane of row < 0 ? [] : model.rows[row].lanes) {
    for (let entry = model.base.from[lane]; entry < model.base.from[lane + 1]; entry++) {
      const off = Math.abs(model.base.start[entry] - from) + Math.abs(model.base.end[entry] - until);
      if (off < least && off < until - from) [best, least] = [entry, off];
    }
  }
  return best;
}

buildHeading(model);
buildLegend(model, view, () => {
  view.shares = null;
  changed();
});
buildLayers(model, view, arrange);
listen();
widenGutter();
new ResizeObserver(resize).observe(byId("rows"));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
resize();
draw();
followLink();
addEventListener("hashchange", followLink);
showNumbers(model, view);
byId("loading").remove();
globalThis.gantt = { model, view, xOf: (time) => xOf(view, time) }; // For the console, and for tests.
