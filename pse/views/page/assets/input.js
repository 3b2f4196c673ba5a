// Keys and mouse.

function listen() {
  const blocks = byId("blocks");
  blocks.addEventListener("wheel", onWheel, { passive: false });
  byId("ruler").addEventListener("wheel", onWheel, { passive: false });
  blocks.addEventListener(
    "pointermove",
    (event) => event.buttons || showTip(tipFor(event), event.clientX, event.clientY),
  );
  blocks.addEventListener("pointerleave", () => showTip(null));
  blocks.addEventListener("pointerdown", (event) =>
    event.shiftKey ? drag(event, boxed) : drag(event, moved),
  );
  blocks.addEventListener("dblclick", () => view.selected !== null && reveal(view.selected, true));
  byId("ruler").addEventListener("pointerdown", (event) => drag(event, boxed));
  byId("overview").addEventListener("pointerdown", (event) => drag(event, overviewed));
  byId("overview").addEventListener("dblclick", whole);
  byId("rows").addEventListener("scroll", changed);
  byId("whole").onclick = whole;
  byId("ask").onclick = () => byId("help").showModal();
  byId("query").addEventListener("input", search);
  byId("search").addEventListener("submit", (event) => (event.preventDefault(), jump(1)));
  byId("next").onclick = () => jump(1);
  byId("previous").onclick = () => jump(-1);
  document.addEventListener("keydown", onKey);
}

function whole() {
  look(model, view, model.begin, model.end);
  changed();
}

function onWheel(event) {
  if (event.altKey) return; // The rows scroll.
  event.preventDefault();
  showTip(null);
  const step = event.deltaMode === 1 ? 16 : 1,
    across = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    const time = (across * step) / pixels(view);
    look(model, view, view.begin + time, view.end + time);
  } else zoom(model, view, 1.002 ** (event.deltaY * step), timeAt(view, event.offsetX));
  changed();
}

// A drag, from press to release: `way` makes what it does at each move, and at its end.
function drag(press, way) {
  if (press.button) return;
  const target = press.currentTarget,
    acts = way(press),
    over = new AbortController();
  target.setPointerCapture(press.pointerId);
  showTip(null);
  document.addEventListener("pointermove", acts.move, { signal: over.signal });
  for (const end of ["pointerup", "pointercancel"]) {
    document.addEventListener(
      end,
      (event) => {
        over.abort();
        target.classList.remove("moving");
        acts.move(event);
        acts.end?.();
      },
      { signal: over.signal },
    );
  }
}

// Moves the picture; a press without a move selects.
function moved(press) {
  const { begin, end } = view,
    rows = byId("rows"),
    scroll = rows.scrollTop;
  let far = false;
  return {
    move(event) {
      const across = event.clientX - press.clientX,
        down = event.clientY - press.clientY;
      far ||= Math.hypot(across, down) > 4;
      if (!far) return;
      byId("blocks").classList.add("moving");
      const time = across / pixels(view);
      look(model, view, begin - time, end - time);
      rows.scrollTop = scroll - down;
      changed();
    },
    end() {
      if (far) return;
      const found = entryAt(model, view, press.offsetX, press.offsetY + scroll),
        entry = found ? baseEntry(model, found) : -1;
      select(entry >= 0 ? entry : null);
    },
  };
}

// Zooms to the range of time that was drawn.
function boxed(press) {
  const first = timeAt(view, press.offsetX),
    left = press.currentTarget.getBoundingClientRect().left;
  let last = first;
  return {
    move(event) {
      last = timeAt(view, event.clientX - left);
      draw();
      const pen = byId("blocks").getContext("2d"),
        look = styles();
      pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      pen.globalAlpha = 0.25;
      pen.fillStyle = look.accent;
      pen.fillRect(xOf(view, first), 0, xOf(view, last) - xOf(view, first), view.height);
      pen.globalAlpha = 1;
      showTip(element("div", duration(Math.abs(last - first))), event.clientX, event.clientY);
    },
    end() {
      showTip(null);
      if (Math.abs(last - first) * pixels(view) > 4)
        look(model, view, Math.min(first, last), Math.max(first, last));
      changed();
    },
  };
}

// Moves the window by its picture in the overview.
function overviewed(press) {
  const left = press.currentTarget.getBoundingClientRect().left,
    perPixel = (model.end - model.begin) / view.width;
  const pressed = model.begin + press.offsetX * perPixel,
    length = view.end - view.begin;
  const inside = pressed >= view.begin && pressed <= view.end && length < 0.98 * (model.end - model.begin);
  const held = inside ? pressed - view.begin : length / 2;
  const go = (event) => {
    const begin = model.begin + (event.clientX - left) * perPixel - held;
    look(model, view, begin, begin + length);
    changed();
  };
  go(press);
  return { move: go };
}

function tipFor(event) {
  const y = event.offsetY + byId("rows").scrollTop,
    at = laneAt(view, y),
    mark = markAt(model, view, event.offsetX, y);
  if (mark) return describeMark(model, mark);
  if (at?.series) return describeSeries(model, view, at.series.series, event.offsetX);
  const found = entryAt(model, view, event.offsetX, y);
  return found && describe(model, view, found);
}

const KEYS = {
  "+": () => zoom(model, view, 0.7),
  "=": () => zoom(model, view, 0.7),
  "-": () => zoom(model, view, 1 / 0.7),
  ArrowLeft: () => pan(-0.15),
  ArrowRight: () => pan(0.15),
  ArrowUp: () => (byId("rows").scrollTop -= 60),
  ArrowDown: () => (byId("rows").scrollTop += 60),
  "[": () => taller(1 / 1.25),
  "]": () => taller(1.25),
  f: () => (fitRows(model, view), arrange()),
  0: whole,
  n: () => jump(1),
  N: () => jump(-1),
  ",": () => neighbour(-1),
  ".": () => neighbour(1),
  "/": () => byId("query").focus(),
  "?": () => byId("help").showModal(),
  Escape: () => select(null),
  Enter: () => view.selected !== null && reveal(view.selected, true),
};

function pan(share) {
  const time = share * (view.end - view.begin);
  look(model, view, view.begin + time, view.end + time);
}

function taller(factor) {
  view.scale = Math.min(4, Math.max(0.02, view.scale * factor));
  arrange();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || byId("help").open) return;
  const inField = event.target.matches("input[type=search]"),
    onControl = event.target.matches("button, input, summary");
  if (inField && event.key === "Escape") return event.target.blur();
  if (inField || (onControl && ["Enter", " "].includes(event.key)) || !Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  showTip(null);
  KEYS[event.key]();
  changed();
}
