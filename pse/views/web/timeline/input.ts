// Keys, mouse, fingers.

import { byId, element } from "../shared/elements";
import { duration, moment } from "../shared/numbers";
import { sliceFacts } from "./drawing/slices";
import { article, describe, describeMark, describeSeries, describeTogether, showTip } from "./panel";
import { panelsOf, togglePanel } from "./panels/panels";
import type { Range } from "./range";
import { styles } from "./drawing/styles";
import type { Timeline } from "./timeline";
import { listenToPinches } from "./touch";
import { baseEntry, entryAt, fitRows, laneAt, look, markAt, pixels, timeAt, xOf, zoom } from "./view";

// What a drag does at each move, and at its end.
interface Acts {
  move(event: PointerEvent): void;
  end?(): void;
}

type Way = (timeline: Timeline, press: PointerEvent) => Acts;

export function listen(timeline: Timeline): void {
  const { view } = timeline,
    blocks = byId("blocks");
  const wheel = (event: WheelEvent) => onWheel(timeline, event),
    whole = () => showWhole(timeline);
  blocks.addEventListener("wheel", wheel, { passive: false });
  byId("ruler").addEventListener("wheel", wheel, { passive: false });
  blocks.addEventListener("pointermove", (event) => {
    if (!event.buttons) showTip(tipFor(timeline, event), event.clientX, event.clientY);
  });
  blocks.addEventListener("pointerleave", () => showTip(null));
  blocks.addEventListener("contextmenu", (event) => {
    if ((event as PointerEvent).pointerType === "touch") event.preventDefault(); // A finger that rests.
  });
  for (const canvas of [blocks, byId("ruler")]) {
    listenToPinches(timeline, canvas);
    canvas.addEventListener("pointermove", (event) => showCursor(timeline, event.offsetX));
    canvas.addEventListener("pointerleave", () => (byId("cursor").hidden = true));
  }
  blocks.addEventListener("pointerdown", (event) => drag(timeline, event, wayOf(event)));
  blocks.addEventListener("dblclick", () => view.selected !== null && timeline.reveal(view.selected, true));
  byId("ruler").addEventListener("pointerdown", (event) => drag(timeline, event, boxed));
  byId("overview").addEventListener("pointerdown", (event) => drag(timeline, event, overviewed));
  byId("overview").addEventListener("dblclick", whole);
  byId("rows").addEventListener("scroll", timeline.changed);
  byId("whole").onclick = whole;
  byId("back").onclick = () => timeline.travel(-1);
  byId("forward").onclick = () => timeline.travel(1);
  byId("list").onclick = () => {
    byId("hitlist").hidden = !byId("hitlist").hidden;
    timeline.showHitList();
  };
  byId("ask").onclick = () => byId<HTMLDialogElement>("help").showModal();
  byId("query").addEventListener("input", timeline.search);
  byId("search").addEventListener("submit", (event) => (event.preventDefault(), timeline.jump(1)));
  byId("next").onclick = () => timeline.jump(1);
  byId("previous").onclick = () => timeline.jump(-1);
  const keys = keysOf(timeline);
  document.addEventListener("keydown", (event) => onKey(timeline, keys, event));
  addEventListener("hashchange", timeline.followLink);
}

function wayOf(press: PointerEvent): Way {
  return press.pointerType === "touch" ? touched : press.shiftKey ? boxed : press.ctrlKey || press.metaKey ? ranged : moved;
}

let pointed = 0; // the time at which the pointer is

// A line at the pointer through all rows, with its time.
function showCursor({ view }: Timeline, x: number): void {
  const cursor = byId("cursor");
  pointed = timeAt(view, x);
  cursor.hidden = false;
  cursor.style.left = `calc(var(--gutter) + ${x}px)`;
  cursor.firstElementChild!.textContent = moment(pointed, 1 / pixels(view), view.end);
  cursor.classList.toggle("left", x > view.width - 90);
}

function showWhole({ model, view, changed }: Timeline): void {
  look(model, view, model.begin, model.end);
  changed();
}

function onWheel({ model, view, changed }: Timeline, event: WheelEvent): void {
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

// A drag, from press to release; a second finger ends it.
function drag(timeline: Timeline, press: PointerEvent, way: Way): void {
  if (press.button || !press.isPrimary) return;
  const target = press.currentTarget as HTMLElement,
    acts = way(timeline, press),
    over = new AbortController();
  target.setPointerCapture(press.pointerId);
  showTip(null);
  const own = (act: (event: PointerEvent) => void) => (event: PointerEvent) => event.pointerId === press.pointerId && act(event);
  document.addEventListener("pointermove", own(acts.move), { signal: over.signal });
  document.addEventListener("pointerdown", (event) => event.isPrimary || over.abort(), { signal: over.signal });
  const end = own((event) => {
    over.abort();
    target.classList.remove("moving");
    acts.move(event);
    acts.end?.();
  });
  document.addEventListener("pointerup", end, { signal: over.signal });
  document.addEventListener("pointercancel", end, { signal: over.signal });
}

const NEAR = 4, // CSS pixels: less is no move
  NEAR_FINGER = 10,
  REST = 400; // ms

// A finger moves the picture, or selects a range if it rested before it moved.
function touched(timeline: Timeline, press: PointerEvent): Acts {
  let acts: Acts | null = null;
  return {
    move(event) {
      const far = Math.hypot(event.clientX - press.clientX, event.clientY - press.clientY) > NEAR_FINGER;
      if (far) acts ??= (event.timeStamp - press.timeStamp > REST ? ranged : moved)(timeline, press);
      acts?.move(event);
    },
    end: () => (acts ?? moved(timeline, press)).end?.(),
  };
}

// Moves the picture; a press without a move selects.
function moved(timeline: Timeline, press: PointerEvent): Acts {
  const { model, view, changed } = timeline,
    { begin, end } = view,
    rows = byId("rows"),
    scroll = rows.scrollTop;
  let far = false;
  return {
    move(event) {
      const across = event.clientX - press.clientX,
        down = event.clientY - press.clientY;
      far ||= Math.hypot(across, down) > NEAR;
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
      timeline.select(entry >= 0 ? entry : null, timeAt(view, press.offsetX));
    },
  };
}

// Zooms to the range of time that was drawn.
function boxed(timeline: Timeline, press: PointerEvent): Acts {
  return drawn(timeline, press, (begin, end) => timeline.zoomTo(begin, end));
}

// Selects the range, of which statistics are shown.
function ranged(timeline: Timeline, press: PointerEvent): Acts {
  return drawn(timeline, press, (begin, end) => timeline.selectRange({ begin, end }));
}

function drawn(
  { model, view, draw, changed }: Timeline,
  press: PointerEvent,
  act: (begin: number, end: number) => void,
): Acts {
  const first = timeAt(view, press.offsetX),
    { left } = (press.target as HTMLElement).getBoundingClientRect();
  let last = first;
  return {
    move(event) {
      last = timeAt(view, event.clientX - left);
      draw();
      const pen = byId<HTMLCanvasElement>("blocks").getContext("2d")!;
      pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      pen.globalAlpha = 0.25;
      pen.fillStyle = styles().accent;
      pen.fillRect(xOf(view, first), 0, xOf(view, last) - xOf(view, first), view.height);
      pen.globalAlpha = 1;
      showTip(element("div", duration(Math.abs(last - first))), event.clientX, event.clientY);
    },
    end() {
      showTip(null);
      const [begin, end] = [Math.max(Math.min(first, last), model.begin), Math.min(Math.max(first, last), model.end)];
      if ((end - begin) * pixels(view) > 4) act(begin, end);
      changed();
    },
  };
}

// Moves the window by its picture in the overview.
function overviewed({ model, view, changed }: Timeline, press: PointerEvent): Acts {
  const { left } = (press.currentTarget as HTMLElement).getBoundingClientRect(),
    perPixel = (model.end - model.begin) / view.width;
  const pressed = model.begin + press.offsetX * perPixel,
    length = view.end - view.begin;
  const inside = pressed >= view.begin && pressed <= view.end && length < 0.98 * (model.end - model.begin);
  const held = inside ? pressed - view.begin : length / 2;
  const move = (event: PointerEvent) => {
    const begin = model.begin + (event.clientX - left) * perPixel - held;
    look(model, view, begin, begin + length);
    changed();
  };
  move(press);
  return { move };
}

function tipFor({ model, view }: Timeline, event: PointerEvent): HTMLElement | null {
  const y = event.offsetY + byId("rows").scrollTop,
    at = laneAt(view, y),
    mark = markAt(model, view, event.offsetX, y);
  if (mark) return describeMark(model, mark);
  if (at?.series) return describeSeries(model, view, at.series.series, event.offsetX);
  const slice = at && sliceFacts(model, view, at.row, event.offsetX, y);
  if (slice) return article("time slice of the coscheduled layer", styles().soft, slice);
  if (at?.lane?.together.length) return describeTogether(model, view, at.lane, event.offsetX);
  const found = entryAt(model, view, event.offsetX, y);
  return found && describe(model, found);
}

function keysOf(timeline: Timeline): Record<string, () => void> {
  const { model, view } = timeline;
  const pan = (share: number) => {
    const time = share * (view.end - view.begin);
    look(model, view, view.begin + time, view.end + time);
  };
  const taller = (factor: number) => {
    view.scale = Math.min(4, Math.max(0.02, view.scale * factor));
    timeline.arrange();
  };
  return {
    "+": () => zoom(model, view, 0.7),
    "=": () => zoom(model, view, 0.7),
    "-": () => zoom(model, view, 1 / 0.7),
    ArrowLeft: () => pan(-0.15),
    ArrowRight: () => pan(0.15),
    ArrowUp: () => (byId("rows").scrollTop -= 60),
    ArrowDown: () => (byId("rows").scrollTop += 60),
    "[": () => taller(1 / 1.25),
    "]": () => taller(1.25),
    f: () => (fitRows(model, view), timeline.arrange()),
    0: () => showWhole(timeline),
    n: () => timeline.jump(1),
    N: () => timeline.jump(-1),
    ",": () => timeline.neighbour(-1),
    ".": () => timeline.neighbour(1),
    "/": () => byId("query").focus(),
    ...Object.fromEntries(panelsOf(model).map(({ id }, n) => [n + 1, () => togglePanel(timeline, id)])),
    "?": () => byId<HTMLDialogElement>("help").showModal(),
    Backspace: () => timeline.travel(-1),
    B: () => timeline.travel(1),
    j: () => timeline.across(1),
    k: () => timeline.across(-1),
    m: () => timeline.mark(markedTime(timeline)),
    r: () => timeline.selectRange(rangeOf(timeline)),
    z: () => timeline.zoomToRange(),
    l: () => timeline.longest(),
    t: () => timeline.zoomToTph(),
    Escape: () => (timeline.select(null), timeline.selectRange(null)),
    Enter: () => view.selected !== null && timeline.reveal(view.selected, true),
  };
}

// Where a marker goes: to the pointer, else to the begin of the selected block, or into the middle.
function markedTime({ model, view }: Timeline): number {
  if (!byId("cursor").hidden) return pointed;
  return view.selected === null ? (view.begin + view.end) / 2 : model.base.start[view.selected];
}

// The selected block's time, or the window.
function rangeOf({ model, view }: Timeline): Range {
  const { selected } = view;
  if (selected === null) return { begin: view.begin, end: view.end };
  return { begin: model.base.start[selected], end: model.base.end[selected] };
}

function onKey(timeline: Timeline, keys: Record<string, () => void>, event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || byId<HTMLDialogElement>("help").open) return;
  const target = event.target as HTMLElement,
    inField = target.matches("input[type=search], select"),
    onControl = target.matches("button, input, select, summary, [role=button]");
  if (inField && event.key === "Escape") return target.blur();
  if (inField || (onControl && ["Enter", " "].includes(event.key)) || !Object.hasOwn(keys, event.key)) return;
  event.preventDefault();
  showTip(null);
  keys[event.key]();
  timeline.changed();
}
