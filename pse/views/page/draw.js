// The picture: blocks, lines, series, outlines, marks.

function styles() {
  const css = getComputedStyle(document.documentElement);
  const pick = (name) => css.getPropertyValue(name).trim();
  return { paper: pick("--paper"), row: pick("--row"), line: pick("--line"), ink: pick("--ink"), soft: pick("--soft"),
           accent: pick("--accent"), failed: pick("--failed"), waits: Number(pick("--waits")) };
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
  const look = styles(), level = drawnLevel(model, view);
  pen.translate(0, -scroll);
  const rows = view.places.filter((place) => place.y < scroll + view.height && place.y + place.height > scroll);
  pen.fillStyle = look.row;
  for (const place of rows) for (const lane of place.lanes) if (!lane.nested) pen.fillRect(0, lane.y, view.width, lane.height);
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

function drawTicks(model, view, pen, look, scroll) {
  pen.fillStyle = look.line;
  pen.globalAlpha = 0.6;
  for (const tick of ticksOf(view).at) pen.fillRect(Math.round(xOf(view, tick)), scroll, 1, view.height);
  pen.globalAlpha = 1;
}

function drawLane(model, view, pen, look, level, lane) {
  const to = level.from[lane.lane + 1], factor = pixels(view);
  for (let i = firstAfter(level, lane.lane, view.begin); i < to && level.start[i] < view.end; i++) {
    const left = Math.max(-2, (level.start[i] - view.begin) * factor);
    const right = Math.min(view.width + 2, (level.end[i] - view.begin) * factor);
    const single = level.first[i + 1] - level.first[i] === 1 && level.count[level.first[i]] === 1;
    if (single) drawBlock(model, view, pen, look, level.kind[level.first[i]], lane, Math.round(left), Math.round(right));
    else drawMerged(model, view, pen, look, level, i, lane, Math.floor(left), Math.ceil(right));
  }
}

const WAIT_HEIGHT = 0.36; // Of a lane.

// A wait is a narrow band: waiting should look like less than working.
function drawBlock(model, view, pen, look, number, lane, left, right) {
  const kind = model.kinds[number], { y, height } = lane, width = Math.max(right - left, 1);
  if (!shown(view, kind)) return;
  pen.fillStyle = kind.colour;
  if (kind.category === "wait") {
    faded(pen, look.waits, () => pen.fillRect(left, y + 0.5 * (1 - WAIT_HEIGHT) * height, width, WAIT_HEIGHT * height));
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

// Merged blocks: each colour as high as its share of the time, waits as a band behind, a line below.
function drawMerged(model, view, pen, look, level, i, lane, left, right) {
  const whole = Math.max(level.end[i] - level.start[i], 1), width = right - left;
  let band = lane.y + 0.68 * lane.height, base = lane.y + lane.height, any = false;
  for (const waits of [true, false]) {
    for (let p = level.first[i]; p < level.first[i + 1]; p++) {
      const kind = model.kinds[level.kind[p]], share = Math.min(1, level.time[p] / whole);
      if ((kind.category === "wait") !== waits || !shown(view, kind)) continue;
      const height = waits ? WAIT_HEIGHT * lane.height * share : Math.max(lane.height * share, 0.5);
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
  const { base } = model, lanes = visibleLanes(model, view, scroll);
  for (const { lane, from, to } of entries) {
    const place = lanes.get(lane);
    if (!place) continue;
    for (let n = from, last = -9; n < to; n++) {
      const i = view.tphList[n], left = xOf(view, base.start[i]), right = xOf(view, base.end[i]);
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

const MOST_LINES = 3000;

// Lines from the hand-over of a tag to its arrival: of the chosen TPH, or all of the window.
function drawLines(model, view, pen, look) {
  const { sent, received, sender, receiver, tph } = model.messages;
  view.lines = { drawn: 0, left: 0 };
  if (!view.tph && !view.layers.lines) return;
  pen.strokeStyle = pen.fillStyle = view.tph ? look.ink : look.soft;
  pen.lineWidth = view.tph ? 1.4 : 0.8;
  pen.globalAlpha = view.tph ? 1 : 0.7;
  const chosen = [];
  for (let i = 0; i < sent.length && chosen.length <= MOST_LINES; i++) {
    if (view.tph && tph[i] !== view.tph) continue;
    if (received[i] < view.begin || sent[i] > view.end || sender[i] === receiver[i]) continue;
    chosen.push(i);
  }
  view.lines = chosen.length > MOST_LINES ? { drawn: 0, left: 1 } : { drawn: chosen.length, left: 0 };
  if (chosen.length <= MOST_LINES) for (const i of chosen) drawLine(view, pen, i, sent, received, sender, receiver);
  pen.globalAlpha = 1;
}

function drawLine(view, pen, i, sent, received, sender, receiver) {
  const from = view.places[sender[i]], to = view.places[receiver[i]];
  const x0 = xOf(view, sent[i]), x1 = xOf(view, received[i]);
  const y0 = from.y + from.main / 2, y1 = to.y + to.main / 2;
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
  pen.beginPath();
  pen.arc(x1, y1, 2, 0, 7);
  pen.fill();
}

// Steps; where several lie in a pixel the greatest is drawn.
function drawSeries(view, pen, look, place) {
  const { series, y, height } = place;
  const top = new Float64Array(Math.ceil(view.width));
  let value = 0, column = 0;
  for (let i = 0; i <= series.count; i++) {
    const x = i < series.count ? xOf(view, series.time[i]) : view.width;
    for (; column < top.length && column < x; column++) top[column] = Math.max(top[column], value);
    if (i === series.count || x >= top.length) break;
    value = series.value[i];
    if (x >= 0) top[Math.floor(x)] = Math.max(top[Math.floor(x)], value);
  }
  for (; column < top.length; column++) top[column] = Math.max(top[column], value);
  pen.fillStyle = look.soft;
  pen.globalAlpha = 0.55;
  top.forEach((value, x) => value && pen.fillRect(x, y + height - (value / series.peak) * height, 1, (value / series.peak) * height));
  pen.globalAlpha = 1;
  pen.fillStyle = look.line;
  pen.fillRect(0, y + height, view.width, 1);
}

// Around calls that failed or never ended, around hits of the search, around what is selected.
function drawOutlines(model, view, pen, look, scroll) {
  const lanes = visibleLanes(model, view, scroll);
  const chosen = outlined(model, view.selected === null ? [] : [view.selected]);
  drawOutline(model, view, pen, lanes, view.unfinished, look.ink, 1.5, [4, 3]);
  drawOutline(model, view, pen, lanes, view.failed, look.failed, 2.5, []);
  drawOutline(model, view, pen, lanes, view.hits, look.accent, 1.5, []);
  drawOutline(model, view, pen, lanes, chosen, look.ink, 2, []);
}

// Entries by time with their lanes; `longest` tells how far before the window one may begin that reaches into it.
function outlined(model, entries) {
  const { start, end } = model.base;
  const longest = entries.reduce((most, entry) => Math.max(most, end[entry] - start[entry]), 0);
  return { entries, lanes: Uint32Array.from(entries, (entry) => laneOf(model, entry)), longest };
}

function drawOutline(model, view, pen, lanes, { entries, lanes: numbers, longest }, colour, width, dashes) {
  const { start, end } = model.base, drawn = new Map(); // Up to which pixel, lane by lane.
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dashes);
  for (let n = firstFrom(entries, start, view.begin - longest); n < entries.length && start[entries[n]] <= view.end; n++) {
    const lane = lanes.get(numbers[n]), right = xOf(view, end[entries[n]]);
    if (!lane || right < 0 || right < (drawn.get(numbers[n]) ?? -9) + 1) continue;
    const left = Math.max(xOf(view, start[entries[n]]), -4), last = Math.min(Math.max(right, left + 2), view.width + 4);
    if (last - left < 4 && entries.length > 1) pen.fillRect(left, lane.y - 3, last - left, 3); // Many outlines would hide all.
    else pen.strokeRect(left - 0.5, lane.y - 0.5, last - left + 1, lane.height + 1);
    drawn.set(numbers[n], last);
  }
  pen.setLineDash([]);
}

// The first of entries by time that begins at a time or later.
function firstFrom(entries, start, time) {
  let low = 0, high = entries.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (start[entries[middle]] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function drawMarks(model, view, pen, look) {
  if (!view.layers.marks) return;
  pen.fillStyle = look.ink;
  for (const { row, time } of model.marks) {
    const x = xOf(view, time), y = view.places[row].y;
    if (x < -5 || x > view.width + 5) continue;
    pen.beginPath();
    pen.moveTo(x - 4, y - 1);
    pen.lineTo(x + 4, y - 1);
    pen.lineTo(x, y + 7);
    pen.fill();
  }
}
