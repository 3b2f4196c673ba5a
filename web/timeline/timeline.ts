// The state of the page and what changes it.

import { byId, element } from "../shared/elements";
import { bytes, counted } from "../shared/numbers";
import { drawOverview, drawRuler, forgetOverview } from "./axis";
import { showNumbers } from "./legend";
import { laneOf } from "./levels";
import type { Model, Row } from "./model";
import { outlined } from "./outlines";
import { describe } from "./panel";
import { drawBlocks } from "./picture";
import { findEntries } from "./search";
import { type Found, layOut, look, type Place, pixels, type View, viewOf } from "./view";

export class Timeline {
  readonly view: View;
  private scheduled = false;
  private numbers = 0; // a timer

  constructor(readonly model: Model) {
    this.view = viewOf(model);
  }

  changed = (): void => {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(this.draw);
  };

  draw = (): void => {
    const { model, view } = this;
    this.scheduled = false;
    drawBlocks(model, view, byId("rows").scrollTop);
    drawRuler(view);
    drawOverview(model, view);
    clearTimeout(this.numbers);
    this.numbers = setTimeout(() => showNumbers(model, view), 60);
  };

  arrange = (): void => {
    const { model, view } = this;
    forgetOverview();
    layOut(model, view);
    byId("sheet").style.height = `${Math.max(view.total, view.height)}px`;
    this.fillGutter();
    this.changed();
  };

  // As wide as the longest name, but no wider than a third of the page: the rest of it shows when pointed at.
  widenGutter(): void {
    const pen = document.createElement("canvas").getContext("2d")!,
      { fontSize, fontFamily } = getComputedStyle(byId("gutter"));
    pen.font = `${fontSize} ${fontFamily}`;
    let width = 0;
    for (const name of new Set(this.model.rows.map((row) => row.name)))
      width = Math.max(width, pen.measureText(name).width);
    const wanted = `max(148px, min(${Math.ceil(width) + 70}px, 33vw))`;
    document.documentElement.style.setProperty("--gutter", wanted);
  }

  resize = (): void => {
    const rows = byId("rows"),
      gutter = byId("gutter").offsetWidth;
    this.view.width = Math.max(80, rows.clientWidth - gutter);
    this.view.height = Math.max(60, rows.clientHeight);
    this.arrange();
  };

  // Names of the rows; a processor's name folds its rows.
  private fillGutter(): void {
    const { model, view } = this,
      parts: HTMLElement[] = [];
    let before: string | undefined,
      free = 0;
    model.rows.forEach((row, index) => {
      const place = view.places[index];
      if (row.group && row.group !== before && place.y >= free) {
        parts.push(this.processorName(row, place));
        free = place.y + 14;
      }
      before = row.group;
      if (place.main >= 11 || (!row.group && place.y >= free)) {
        if (!row.group) free = place.y + 14;
        const name = element("span", row.name, { class: "thread", title: row.where });
        parts.push(at(name, place.y, Math.max(12, place.main)));
      }
      for (const { series, y, height } of place.series) {
        const text = series.name === "memory" ? `memory ≤ ${bytes(series.peak)}` : `queues ≤ ${series.peak}`;
        parts.push(at(element("span", text, { class: "lane" }), y, height));
      }
    });
    byId("gutter").replaceChildren(...parts);
  }

  private processorName(row: Row, place: Place): HTMLElement {
    const open = !this.view.folded.has(row.group);
    const made = element("button", row.group, {
      type: "button",
      class: "processor",
      "aria-expanded": open,
      title: "Fold or unfold its rows",
    });
    made.onclick = () => {
      if (open) this.view.folded.add(row.group);
      else this.view.folded.delete(row.group);
      this.arrange();
    };
    return at(made, place.y, Math.max(14, place.main));
  }

  select(entry: number | null): void {
    const { model, view } = this;
    view.selected = entry;
    view.tph = entry === null ? 0 : model.tph[entry];
    view.tphList = [];
    view.tphEntries = [];
    if (view.tph) this.collectTph();
    const card = entry === null ? [] : [element("h3", "Selected"), describe(model, this.inBase(entry))];
    byId("selected").replaceChildren(...card);
    this.changed();
  }

  inBase(entry: number): Found {
    const lane = laneOf(this.model.base, entry);
    return { level: this.model.base, entry, lane, row: this.model.lanes[lane].row };
  }

  // The blocks of the chosen TPH, lane by lane.
  private collectTph(): void {
    const { model, view } = this;
    model.lanes.forEach((_, lane) => {
      const from = view.tphList.length;
      for (let i = model.base.from[lane]; i < model.base.from[lane + 1]; i++) {
        if (model.tph[i] === view.tph) view.tphList.push(i);
      }
      view.tphEntries.push({ lane, from, to: view.tphList.length });
    });
  }

  // Puts a block into the middle of the window, long enough to be seen.
  reveal(entry: number, always = false): void {
    const { model, view } = this;
    const begin = model.base.start[entry],
      end = model.base.end[entry],
      length = end - begin;
    const width = length * pixels(view),
      middle = (begin + end) / 2;
    let shown = view.end - view.begin;
    if (always || width < 6 || width > view.width * 0.6) shown = Math.max(length * (always ? 1.6 : 12), 200);
    look(model, view, middle - shown / 2, middle + shown / 2);
    this.scrollTo(this.inBase(entry).row);
    this.changed();
  }

  private scrollTo(row: number): void {
    const place = this.view.places[row],
      rows = byId("rows");
    if (place.y < rows.scrollTop || place.y + place.height > rows.scrollTop + this.view.height)
      rows.scrollTop = place.y - this.view.height / 2;
  }

  search = (): void => {
    const { model, view } = this;
    view.found = findEntries(model, byId<HTMLInputElement>("query").value);
    view.hits = outlined(model, view.found);
    view.current = -1;
    forgetOverview();
    this.showHits();
    this.changed();
  };

  private showHits(): void {
    const empty = !byId<HTMLInputElement>("query").value.trim(),
      { current, found } = this.view,
      hits = found.length;
    let text = current < 0 ? counted(hits, "hit") : `${current + 1} of ${hits.toLocaleString("en")}`;
    if (!hits) text = empty ? "" : "no hit";
    byId("hits").textContent = text;
  }

  // From hit to hit; the first one is the next after the window's begin.
  jump(step: number): void {
    const { model, view } = this,
      hits = view.found.length;
    if (!hits) return;
    if (view.current < 0) {
      const ahead = view.found.findIndex((entry) => model.base.start[entry] >= view.begin);
      view.current = ahead < 0 ? 0 : step < 0 ? (ahead - 1 + hits) % hits : ahead;
    } else view.current = (view.current + step + hits) % hits;
    this.select(view.found[view.current]);
    this.reveal(view.found[view.current]);
    this.showHits();
  }

  neighbour(step: number): void {
    const { model, view } = this;
    if (view.selected === null) return;
    const lane = laneOf(model.base, view.selected),
      next = view.selected + step;
    if (next < model.base.from[lane] || next >= model.base.from[lane + 1]) return;
    this.select(next);
    this.reveal(next);
  }

  // A link may say what to look at: #from=NS&until=NS&rank=R, the time since the run's begin.
  followLink = (): void => {
    const { model, view } = this,
      asked = new URLSearchParams(location.hash.slice(1)),
      from = Number(asked.get("from")),
      until = Number(asked.get("until"));
    if (!(until > from)) return;
    const row = model.rows.findIndex((each) => String(each.rank) === asked.get("rank")),
      chosen = this.blockAt(row, from, until);
    if (chosen !== null) this.select(chosen);
    look(model, view, from - 0.5 * (until - from), until + 0.5 * (until - from));
    if (row >= 0) byId("rows").scrollTop = view.places[row].y - view.height / 2;
    this.changed();
  };

  // The block of a row that lies the most exactly in a time.
  private blockAt(row: number, from: number, until: number): number | null {
    const { start, end, from: first } = this.model.base;
    let best: number | null = null,
      least = Infinity;
    for (const lane of row < 0 ? [] : this.model.rows[row].lanes) {
      for (let entry = first[lane]; entry < first[lane + 1]; entry++) {
        const off = Math.abs(start[entry] - from) + Math.abs(end[entry] - until);
        if (off < least && off < until - from) [best, least] = [entry, off];
      }
    }
    return best;
  }
}

function at<T extends HTMLElement>(made: T, y: number, height: number): T {
  made.style.top = `${y}px`;
  made.style.height = made.style.lineHeight = `${height}px`;
  return made;
}
