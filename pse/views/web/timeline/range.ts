// What is said of a range of time: a table of what happened in it, and a histogram of durations.

import { byId, element } from "../shared/elements";
import { counted, decimal, duration, moment, percent } from "../shared/numbers";
import type { Model } from "./data/model";
import { histogram, type Statistics, statisticsOf } from "./data/statistics";

export interface Range {
  begin: number;
  end: number;
}

const BINS = 24,
  HIGH = 46; // CSS pixels of a histogram
const COLUMNS = ["time", "share", "count", "mean", "median", "95 %", "longest", "imbalance"];

export function showRange(model: Model, range: Range | null, zoom: () => void, close: () => void): void {
  const card = byId("range");
  card.hidden = !range;
  if (!range) return;
  const { begin, end } = range,
    step = Math.max(1, (end - begin) / 1000),
    all = statisticsOf(model, begin, end);
  const head = element("header"),
    buttons = [button("Zoom", "Zoom to the range (z)", zoom), button("×", "Select no range (Esc)", close)];
  head.append(
    element("h3", `${duration(end - begin)} selected`),
    element("span", `${moment(begin, step, end)} to ${moment(end, step)}`),
    ...buttons,
  );
  const histograms = element("div");
  const choose = (statistics: Statistics) => histograms.replaceChildren(...histogramOf(statistics));
  card.replaceChildren(head, table(model, all, (end - begin) * model.rows.length, choose), histograms);
  if (all.length) choose(all[0]);
}

function button(text: string, title: string, act: () => void): HTMLElement {
  const made = element("button", text, { type: "button", title, "aria-label": title });
  made.onclick = act;
  return made;
}

function table(model: Model, all: Statistics[], whole: number, choose: (one: Statistics) => void): HTMLElement {
  const made = element("table"),
    titles = element("tr");
  titles.append(element("th", ""), ...COLUMNS.map((title) => element("th", title, { scope: "col" })));
  made.append(titles);
  for (const one of all) {
    const row = element("tr", undefined, { "data-statistics": one.group.id }),
      name = element("button", one.group.name, { type: "button", title: "Show how long each took" });
    name.onclick = () => choose(one);
    const first = element("th", undefined, { scope: "row" });
    first.append(name);
    row.append(first, ...cells(model, one, whole).map((text) => element("td", text)));
    made.append(row);
  }
  return made;
}

function cells(model: Model, one: Statistics, whole: number): string[] {
  const known = one.count > one.merged; // Of merged blocks only the mean is known.
  const busiest = model.rows[one.busiest];
  return [
    duration(one.time),
    percent(one.time / whole),
    one.count.toLocaleString("en"),
    one.count ? duration(one.mean) : "–",
    known ? duration(one.median) : "–",
    known ? duration(one.p95) : "–",
    known ? duration(one.most) : "–",
    model.rows.length > 1 ? `${decimal(one.imbalance, 2)} · rank ${busiest.rank}` : "–",
  ];
}

function histogramOf({ group, durations, merged }: Statistics): HTMLElement[] {
  const bins = histogram(durations, BINS);
  if (!bins.length) return [element("p", `${group.name}: no single durations are in the file`)];
  const most = Math.max(...bins.map(({ count }) => count)),
    bars = element("div", undefined, { class: "histogram", role: "img" });
  const text = `${group.name}: ${counted(durations.length, "duration")} from ${duration(durations[0])} to ${duration(durations[durations.length - 1])}`;
  bars.setAttribute("aria-label", text);
  for (const { from, to, count } of bins) {
    const bar = element("i", "", { title: `${duration(from)} to ${duration(to)}: ${counted(count, "block")}` });
    bar.style.height = `${(HIGH * count) / most}px`;
    bar.style.background = group.category === "wait" ? "var(--soft)" : group.colour;
    bars.append(bar);
  }
  const more = merged ? `; ${counted(merged, "block")} of the range are merged in the file` : "";
  return [bars, element("p", text + more)];
}
