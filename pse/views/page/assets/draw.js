// The picture: rows and their blocks; `overlays.js` draws what lies over them.

function styles() {
  const css = getComputedStyle(document.documentElement);
  const pick = (name) => css.getPropertyValue(name).trim();
  return {
    paper: pick("--paper"),
    row: pick("--row"),
    line: pick("--line"),
    ink: pick("--ink"),
    soft: pick("--soft"),
    accent: pick("--accent"),
    failed: pick("--failed"),
    waits: Number(pick("--waits")),
  };
}

const FONT = 'system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif';

function prepared(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

function drawBlocks(model, view, scroll) {
  const pen = prepared(byId("blocks"), view.width, view.height);
  const look = styles(),
    level = drawnLevel(model, view);
  pen.translate(0, -scroll);
  const rows = view.places.filter(
    (place) => place.y < scroll + view.height && place.y + place.height > scroll,
  );
  pen.fillStyle = look.row;
  for (const place of rows)
    for (const lane of place.lanes) if (!lane.nested) pen.fillRect(0, lane.y, view.width, lane.height);
  view.places.forEach((place, row) => {
    if (rows.includes(place)) drawOutside(model, view, pen, look, place, row);
  });
  drawTicks(model, view, pen, look, scroll);
  pen.globalAlpha = view.tph ? 0.22 : 1;
  for (const place of rows) for (const lane of place.lanes) drawLane(model, view, pen, look, level, lane);
  pen.globalAlpha = 1;
  for (const place of rows) for (const series of place.series) drawSeries(view, pen, look, series);
  if (view.tph) drawSome(model, view, pen, look, view.tphEntries, scroll);
  drawLines(model, view, pen, look);
  drawOutlines(model, view, pen, look, scroll);
  drawMarks(model, view, pen, look);
}

// The start and the end of a rank, outside of the program: hatched, under everything else.
function drawOutside(model, view, pen, look, place, row) {
  const lane = place.lanes[0],
    spans = model.outside[row];
  for (const [begin, end] of lane ? spans : []) {
    const left = Math.max(0, xOf(view, begin)),
      right = Math.min(view.width, xOf(view, end));
    if (right - left < 1) continue;
    pen.save();
    pen.beginPath();
    pen.rect(left, lane.y, right - left, lane.height);
    pen.clip();
    pen.strokeStyle = look.line;
    pen.beginPath();
    for (let x = left - (left % 6) - lane.height; x < right; x += 6) {
      pen.moveTo(x, lane.y + lane.height);
      pen.lineTo(x + lane.height, lane.y);
    }
    pen.stroke();
    pen.restore();
  }
}

function drawTicks(model, view, pen, look, scroll) {
  pen.fillStyle = look.line;
  pen.globalAlpha = 0.6;
  for (const tick of ticksOf(view).at) pen.fillRect(Math.round(xOf(view, tick)), scroll, 1, view.height);
  pen.globalAlpha = 1;
}

function drawLane(model, view, pen, look, level, lane) {
  const to = level.from[lane.lane + 1],
    factor = pixels(view),
    column = new PixelColumn((at, pieces) =>
      drawShares(model, view, pen, look, pieces, 1 / factor, lane, at, at + 1),
    );
  for (let i = firstAfter(level, lane.lane, view.begin); i < to && level.start[i] < view.end; i++) {
    const left = Math.max(-2, (level.start[i] - view.begin) * factor);
    const right = Math.min(view.width + 2, (level.end[i] - view.begin) * factor);
    if (right - left < 1) {
      column.add(Math.floor((left + right) / 2), level, i);
      continue;
    }
    column.flush();
    const single = level.first[i + 1] - level.first[i] === 1 && level.count[level.first[i]] === 1;
    if (single)
      drawBlock(
        model,
        view,
        pen,
        look,
        level.kind[level.first[i]],
        lane,
        Math.round(left),
        Math.round(right),
      );
    else {
      const whole = Math.max(level.end[i] - level.start[i], 1);
      const edges = [Math.floor(left), Math.ceil(right)];
      drawShares(model, view, pen, look, piecesOf(level, i), whole, lane, ...edges);
    }
  }
  column.flush();
}

function piecesOf(level, i) {
  const pieces = [];
  for (let p = level.first[i]; p < level.first[i + 1]; p++)
    pieces.push({ kind: level.kind[p], time: level.time[p] });
  return pieces;
}

// Entries narrower than a pixel, one pixel after the other: the time of each kind in it is summed up.
class PixelColumn {
  constructor(draw) {
    Object.assign(this, { draw, at: null, times: new Map() });
  }
  add(at, level, i) {
    if (at !== this.at) this.flush();
    this.at = at;
    for (const { kind, time } of piecesOf(level, i)) this.times.set(kind, (this.times.get(kind) || 0) + time);
  }
  flush() {
    if (this.times.size) this.draw(this.at, Array.from(this.times, ([kind, time]) => ({ kind, time })));
    this.times.clear();
  }
}

const WAIT_HEIGHT = 0.36; // Of a lane.

// A wait is a narrow band: waiting should look like less than working.
function drawBlock(model, view, pen, look, number, lane, left, right) {
  const kind = model.kinds[number],
    { y, height } = lane,
    width = Math.max(right - left, 1);
  if (!shown(view, kind)) return;
  pen.fillStyle = kind.colour;
  if (kind.category === "wait") {
    faded(pen, look.waits, () =>
      pen.fillRect(left, y + 0.5 * (1 - WAIT_HEIGHT) * height, width, WAIT_HEIGHT * height),
    );
    return;
  }
  pen.fillRect(left, y, width, height);
  if (width < 4) return;
  if (kind.hatch) hatch(pen, kind.hatch, left, y, width, height);
  pen.fillStyle = look.paper;
  pen.fillRect(left + width - 1, y, 1, height); // Blocks that touch are told apart.
  if (width > 30 && height >= 10) label(pen, kind, left, y, width, height);
}

function faded(pen, strength, paint) {
  const before = pen.globalAlpha;
  pen.globalAlpha = before * strength;
  paint();
  pen.globalAlpha = before;
}

function label(pen, kind, left, y, width, height) {
  const from = Math.max(left, 0);
  pen.font = `${Math.min(12, height - 2)}px ${FONT}`;
  pen.textBaseline = "middle";
  const room = left + width - from - 9;
  if (room < 14) return;
  let text = kind.label;
  const needed = pen.measureText(text).width;
  if (needed > room) text = text.slice(0, Math.floor((text.length * room) / needed) - 1) + "…";
  if (text.length < 3 && kind.label.length > 2) return;
  if (kind.hatch) {
    pen.fillStyle = kind.colour;
    pen.fillRect(from + 2, y + 1, Math.min(needed, room) + 4, height - 2);
  }
  pen.fillStyle = kind.ink;
  pen.fillText(text, from + 4, y + height / 2 + 0.5);
}

// Past 21 modules colours come again, with dots, rings or thick dots.
function hatch(pen, way, left, y, width, height) {
  pen.save();
  pen.beginPath();
  pen.rect(left, y, width, height);
  pen.clip();
  pen.strokeStyle = pen.fillStyle = "#000a";
  for (let x = left + 3; x < left + width; x += 8) {
    for (let dot = y + 4; dot < y + height; dot += 8) {
      pen.beginPath();
      pen.arc(x, dot, way === 1 ? 1 : 2, 0, 7);
      if (way === 2) pen.stroke();
      else pen.fill();
    }
  }
  pen.restore();
}

const LEAST_HEIGHT = 0.06; // Of a lane: so that a single short call can be seen.

// Merged blocks: each colour as high as its share of the time, waits as a band behind, a line below.
function drawShares(model, view, pen, look, pieces, whole, lane, left, right) {
  const width = right - left;
  let band = lane.y + 0.68 * lane.height,
    base = lane.y + lane.height,
    any = false;
  for (const waits of [true, false]) {
    for (const piece of pieces) {
      const kind = model.kinds[piece.kind],
        share = Math.min(1, piece.time / whole);
      if ((kind.category === "wait") !== waits || !shown(view, kind)) continue;
      const height = waits ? WAIT_HEIGHT * lane.height * share : lane.height * Math.max(share, LEAST_HEIGHT);
      pen.fillStyle = kind.colour;
      if (waits) faded(pen, look.waits, () => pen.fillRect(left, (band -= height), width, height));
      else pen.fillRect(left, (base -= height), width, height);
      any = true;
    }
  }
  if (!any || lane.height < 9) return;
  pen.fillStyle = look.soft;
  pen.fillRect(left, lane.y + lane.height, width, 1);
}

// Some entries only, at full strength: those of one TPH.
function drawSome(model, view, pen, look, entries, scroll) {
  const { base } = model,
    lanes = visibleLanes(model, view, scroll);
  for (const { lane, from, to } of entries) {
    const place = lanes.get(lane);
    if (!place) continue;
    for (let n = from, last = -9; n < to; n++) {
      const i = view.tphList[n],
        left = xOf(view, base.start[i]),
        right = xOf(view, base.end[i]);
      if (right < last + 0.7 || right < 0) continue;
      if (left > view.width) break;
      const edges = [Math.max(left, -2), Math.min(right, view.width + 2)].map(Math.round);
      drawBlock(model, view, pen, look, base.kind[base.first[i]], place, ...edges);
      last = right;
    }
  }
}

function visibleLanes(model, view, scroll) {
  const lanes = new Map();
  for (const place of view.places) {
    if (place.y > scroll + view.height || place.y + place.height < scroll) continue;
    for (const lane of place.lanes) lanes.set(lane.lane, lane);
  }
  return lanes;
}
