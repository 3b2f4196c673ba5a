// What took longer in which of two runs.

import { element } from "../../shared/elements";
import { counted, decimal, duration, percent } from "../../shared/numbers";
import { type Alignment, differencesOf } from "../data/pair";
import type { Difference, Model } from "../data/model";
import type { Panel } from "./panel";
import { sortedTable } from "./table";
import type { TimelineState } from "../state";

export const differencesPanel: Panel = {
  id: "differences",
  title: "Differences",
  there: (model) => model.runs.length > 1,
  fill(timeline, begin, end, again) {
    const { model } = timeline,
      whole = model.stacked || (begin <= model.begin && end >= model.end),
      lines = whole ? model.differences.filter(({ kind }) => kind !== "run") : differencesOf(model, begin, end),
      lost = model.unmatched ? ` ${counted(model.unmatched, "rank")} of the second run without a row here are left out.` : "",
      span = whole ? " The table is of the whole runs." : ` The table is of this window.${lost}`;
    return [choice(timeline), element("p", sentence(model) + span, { class: "said" }), ...sortedTable("differences", columnsOf(model), lines, again)];
  },
};

function choice({ model, view, align }: TimelineState): HTMLElement {
  const made = element("div", undefined, { class: "choices" }),
    select = element("select", undefined, { "aria-label": "How rows of both runs are aligned" });
  for (const [value, text] of [["time", "aligned in time"], ["iteration", "aligned by iteration"]])
    select.append(element("option", text, value === view.alignment ? { value, selected: true } : { value }));
  select.onchange = () => align(select.value as Alignment);
  if (model.iterations.length > 1) made.append(select);
  return made;
}

// Which run is shorter, by how much.
function sentence({ runs, differences }: Model): string {
  const whole = differences.find(({ kind }) => kind === "run");
  if (!whole) return "";
  const [first, second] = whole.times,
    how = second < first ? "shorter" : "longer",
    reach = whole.interval ? ` (95 %: gain of ${signed(whole.interval[0])} to ${signed(whole.interval[1])})` : "";
  return `${runs[1]} takes ${duration(second)}: ${duration(Math.abs(first - second))} (${percent(Math.abs(first - second) / first)}) ${how} than ${runs[0]}${reach}. Times are of all ranks together.`;
}

const signed = (time: number) => `${time < 0 ? "−" : ""}${duration(Math.abs(time))}`;

function columnsOf(model: Model) {
  const number = (title: string, key: (one: Difference) => number, text: (value: number) => string) => ({
    title,
    key,
    text: (one: Difference) => text(key(one)),
  });
  const gain = (one: Difference) => one.times[0] - one.times[1],
    mean = (one: Difference, run: number) => (one.counts[run] ? one.times[run] / one.counts[run] : 0),
    count = (value: number) => decimal(value, Number.isInteger(value) ? 0 : 1);
  const columns = [
    { title: "what", key: (one: Difference) => `${one.kind} ${one.name}`, text: (one: Difference) => nameOf(model, one) },
    number("gain", gain, signed),
    number("first", (one) => one.times[0], duration),
    number("second", (one) => one.times[1], duration),
    number("count, first", (one) => one.counts[0], count),
    number("count, second", (one) => one.counts[1], count),
    number("mean, first", (one) => mean(one, 0), duration),
    number("mean, second", (one) => mean(one, 1), duration),
  ];
  if (!model.differences.some(({ interval }) => interval)) return columns;
  const reach = { title: "95 % of the gain", key: (one: Difference) => one.interval?.[0] ?? 0, text: (one: Difference) => (one.interval ? one.interval.map(signed).join(" to ") : "") };
  return [...columns.slice(0, 2), reach, ...columns.slice(2)];
}

function nameOf({ groups }: Model, { kind, name }: Difference): string {
  return kind === "wait" ? (groups.find(({ id }) => id === `wait:${name}`)?.name ?? name) : name;
}
