// The state of the page and what changes it.

import { byId, element } from "../shared/elements";
import { counted } from "../shared/numbers";
import { drawOverview, drawRuler, forgetOverview } from "./drawing/axis";
import { type Chain, chainAt, kindOf } from "./causes";
import { tellEmbedder } from "./embedded";
import { FilterError, filtered, isFilter } from "./data/filter";
import { buildRowChoice, fillGutter, showSorted } from "./drawing/gutter";
import { align, type Alignment } from "./data/pair";
import { addressOf, History, layersOf, readAddress } from "./history";
import { showHitList } from "./hits";
import { showNumbers } from "./legend";
import { blocksIn, firstAfter, laneOf } from "./data/levels";
import type { Model } from "./data/model";
import { outlined } from "./data/outlined";
import { describe, describeChain } from "./panel";
import { drawBlocks } from "./drawing/picture";
import { showPath } from "./drawing/path";
import { showPanel } from "./panels/panels";
import { type Range, showRange } from "./range";
import { findEntries } from "./search";
import { showFiner } from "./served";
import type { TimelineState } from "./state";
import { chooseRows, type Found, layOut, look, pixels, type View, viewOf, visibleRows } from "./view";

export class Timeline implements TimelineState {
  readonly view: View;
  private scheduled = false;
  private numbers = 0; // a timer
  private history: History;
  private wrong = ""; // with the filter

  constructor(readonly model: Model) {
    this.view = viewOf(model);
    this.history = new History(this.view, this.writeAddress);
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
    this.history.changed();
    clearTimeout(this.numbers);
    this.numbers = setTimeout(this.showNumbers, 60);
  };

  private showNumbers = (): void => {
    const { model, view } = this;
    showNumbers(model, view);
    showPath(model, view);
    showSorted(view);
    showPanel(this);
    showFiner(model, view);
  };

  // Draws all at once, since what prints doesn't wait; paper is light.
  drawOn(paper: boolean): void {
    document.documentElement.classList.toggle("paper", paper);
    this.resize();
    this.draw();
    this.showNumbers();
  }

  arrange = (): void => {
    const { model, view } = this;
    forgetOverview();
    layOut(model, view);
    byId("sheet").style.height = `${Math.max(view.total, view.height)}px`;
    fillGutter(this);
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

  // Chooses rows anew: their order, which are hidden, which stand for others.
  chooseRows = (): void => {
    chooseRows(this.model, this.view);
    this.arrange();
  };

  // By what ranks do in the window.
  sortRows = (): void => {
    this.view.choice.sorted = [this.view.begin, this.view.end];
    this.chooseRows();
  };

  // Selects a block, and its TPH; of a wait, who kept the rank waiting at a moment in it.
  select(entry: number | null, time?: number): void {
    const { model, view } = this;
    view.selected = entry;
    view.tph = entry === null ? 0 : model.tph[entry];
    view.tphList = [];
    view.tphEntries = [];
    if (view.tph) this.collectTph();
    const found = entry === null ? null : this.inBase(entry);
    view.chain = entry === null ? null : this.chainOf(entry, time);
    byId("selected").replaceChildren(
      ...(view.chain ? describeChain(model, view, view.chain) : []),
      ...(found ? [element("h3", "Selected"), describe(model, found)] : []),
    );
    this.changed();
  }

  private chainOf(entry: number, time?: number): Chain | null {
    const { base, lanes, late } = this.model,
      kind = kindOf(this.model, entry);
    if (lanes[laneOf(base, entry)].run) return null;
    if (kind.category !== "wait" && !late[entry]) return null;
    const middle = (base.start[entry] + base.end[entry]) / 2;
    return chainAt(this.model, lanes[laneOf(base, entry)].row, time ?? middle);
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
    view.query = byId<HTMLInputElement>("query").value;
    view.found = this.find(view.query);
    view.hits = outlined(model, view.found);
    view.current = -1;
    forgetOverview();
    this.showHits();
    this.changed();
  };

  searchFor = (query: string): void => {
    byId<HTMLInputElement>("query").value = query;
    this.search();
  };

  // By words, or by a filter; what is wrong with one is said where hits are counted.
  private find(query: string): number[] {
    const { model } = this,
      { start } = model.base;
    this.wrong = "";
    if (!isFilter(query)) return findEntries(model, query);
    try {
      return filtered(model, query).sort((a, b) => start[a] - start[b] || a - b);
    } catch (error) {
      if (!(error instanceof FilterError)) throw error;
      this.wrong = error.message;
      return [];
    }
  }

  showHitList(): void {
    showHitList(this.model, this.view.found, (entry) => {
      this.select(entry);
      this.reveal(entry);
    });
  }

  private showHits(): void {
    const empty = !byId<HTMLInputElement>("query").value.trim(),
      { current, found } = this.view,
      hits = found.length;
    let text = current < 0 ? counted(hits, "hit") : `${current + 1} of ${hits.toLocaleString("en")}`;
    if (!hits) text = empty ? "" : this.wrong || "no hit";
    byId("hits").textContent = byId("hits").title = text;
    byId<HTMLButtonElement>("list").disabled = !hits;
    if (!hits) byId("hitlist").hidden = true;
    if (current < 0) this.showHitList();
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
    if (view.selected === null) return this.across(1);
    const lane = laneOf(model.base, view.selected),
      next = view.selected + step;
    if (next < model.base.from[lane] || next >= model.base.from[lane + 1]) return;
    this.select(next);
    this.reveal(next);
  }

  // To the row above (-1) or below (1), at the same moment; at first, to the row at the top of the picture.
  across(step: number): void {
    const { view } = this,
      { order, selected } = view,
      here = selected === null ? -1 : order.indexOf(this.inBase(selected).row),
      first = order.indexOf(visibleRows(view, byId("rows").scrollTop)[0]);
    for (let place = here < 0 ? first : here + step; place >= 0 && place < order.length; place += step) {
      const entry = this.blockOf(order[place]);
      if (entry < 0) continue;
      this.select(entry);
      return this.scrollTo(order[place]);
    }
  }

  // The block of a row in the window that is the nearest to the middle of what is seen of the selected one; -1: none.
  private blockOf(row: number): number {
    const { model, view } = this,
      { base } = model,
      [from, to] = view.selected === null ? [view.begin, view.begin] : [base.start[view.selected], base.end[view.selected]],
      time = (Math.max(from, view.begin) + Math.min(to, view.end)) / 2,
      lane = model.rows[row].lanes[0],
      entry = firstAfter(base, lane, time);
    if (entry < base.from[lane + 1] && base.start[entry] < view.end) return entry;
    return entry > base.from[lane] && base.end[entry - 1] > view.begin ? entry - 1 : -1;
  }

  // Puts the run that is compared beside this one: from the begin of both, or iteration by iteration.
  align = (by: Alignment): void => {
    this.view.alignment = by;
    align(this.model, by);
    this.changed();
  };

  zoomTo(begin: number, end: number): void {
    look(this.model, this.view, begin, end);
    this.changed();
  }

  // To the window before (-1) or after (1).
  travel(by: number): void {
    const found = this.history.step(by);
    if (found) this.zoomTo(...found);
  }

  selectRange(range: Range | null): void {
    const { model, view } = this;
    view.range = range;
    showRange(model, range, () => this.zoomToRange(), () => this.selectRange(null));
    this.changed();
  }

  zoomToRange(): void {
    const { range } = this.view;
    if (range) this.zoomTo(range.begin, range.end);
  }

  // Sets a marker; of three, the oldest goes. At a marker: takes it away.
  mark(time: number): void {
    const { view } = this,
      near = view.markers.findIndex((other) => Math.abs(other - time) * pixels(view) < 4);
    if (near >= 0) view.markers.splice(near, 1);
    else view.markers = [...view.markers, time].slice(-2);
    this.changed();
  }

  // Selects the longest block in the window of the kind that is selected, or of all.
  longest(): void {
    const { model, view } = this,
      { base } = model;
    const group = view.selected === null ? -1 : model.groupOf[base.kind[base.first[view.selected]]];
    let best = -1,
      length = 0;
    for (const lane of model.own) {
      for (let i = firstAfter(base, lane, view.begin); i < base.from[lane + 1] && base.start[i] < view.end; i++) {
        const single = blocksIn(base, i) === 1,
          fits = group < 0 || model.groupOf[base.kind[base.first[i]]] === group;
        if (single && fits && base.end[i] - base.start[i] > length)
          [best, length] = [i, base.end[i] - base.start[i]];
      }
    }
    if (best < 0) return;
    this.select(best);
    this.reveal(best, true);
  }

  // To all of the TPH that is selected.
  zoomToTph(): void {
    const { base } = this.model,
      { tphList } = this.view;
    if (!tphList.length) return;
    const begin = tphList.reduce((least, i) => Math.min(least, base.start[i]), Infinity),
      end = tphList.reduce((most, i) => Math.max(most, base.end[i]), 0);
    this.zoomTo(begin - 0.02 * (end - begin), end + 0.02 * (end - begin));
  }

  // The address says what is seen, so that a link shows the same.
  private writeAddress = (): void => {
    tellEmbedder(this.model, this.view);
    if (location.protocol === "about:") return; // In a frame of a notebook.
    const seen = addressOf(this.model, this.view);
    history.replaceState(null, "", seen ? `#${seen}` : location.pathname + location.search);
  };

  private readAddress(text: string): void {
    const { model, view } = this,
      asked = readAddress(model, text);
    view.hidden = new Set(asked.hidden.filter((id) => model.groups.some((group) => group.id === id)));
    for (const box of document.querySelectorAll<HTMLInputElement>("[data-group]"))
      box.checked = !view.hidden.has(box.dataset.group!);
    view.markers = asked.markers;
    this.showLayers(asked.layers ?? layersOf(viewOf(model)));
    view.layersChosen = asked.layers !== undefined;
    view.panel = asked.panel;
    if (asked.alignment !== view.alignment) this.align(asked.alignment);
    Object.assign(view.choice, { order: asked.order, by: asked.by, alike: asked.alike, sorted: asked.sorted ?? [model.begin, model.end] });
    [view.folded, view.scale, view.chosen] = [new Set(asked.folded), asked.high, asked.chosen];
    [view.choice.pinned, view.choice.hidden] = [new Set(asked.pinned), new Set(asked.away)];
    buildRowChoice(this);
    if (asked.block !== null && asked.block >= 0 && asked.block < model.base.start.length)
      this.select(Math.floor(asked.block), asked.at);
    this.selectRange(asked.range ? { begin: asked.range[0], end: asked.range[1] } : null);
    if (asked.view) look(model, view, ...asked.view);
    showPanel(this);
    this.resize();
    this.chooseRows();
    byId("rows").scrollTop = asked.top.length ? view.places[asked.top[0]].y || 0 : 0;
    if (asked.find !== view.query) this.searchFor(asked.find);
  }

  private showLayers(layers: string[]): void {
    for (const box of document.querySelectorAll<HTMLInputElement>("input[data-layer]"))
      if (box.checked !== layers.includes(box.dataset.layer!)) box.click();
  }

  // A link may say what to look at: what `addressOf` wrote, or #from=NS&until=NS&rank=R, the time since the
  // run's begin.
  followLink = (): void => {
    const text = location.hash.slice(1),
      asked = new URLSearchParams(text);
    if (!asked.has("from")) return this.show(text);
    this.followBlock(asked);
    this.history.remember();
  };

  // Shows what an address says, and nothing of what was seen before.
  show = (address: string): void => {
    const { model, view } = this;
    look(model, view, model.begin, model.end);
    this.select(null);
    this.readAddress(address);
    this.history.remember();
  };

  private followBlock(asked: URLSearchParams): void {
    const { model, view } = this,
      from = Number(asked.get("from")),
      until = Number(asked.get("until"));
    if (!(until > from)) return;
    const row = model.rows.findIndex((each) => String(each.rank) === asked.get("rank")),
      chosen = this.blockAt(row, from, until);
    if (chosen !== null) this.select(chosen);
    look(model, view, from - 0.5 * (until - from), until + 0.5 * (until - from));
    if (row >= 0) byId("rows").scrollTop = view.places[row].y - view.height / 2;
    this.changed();
  }

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
