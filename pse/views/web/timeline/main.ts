// The page: reads the trace, draws when something has changed, and turns keys and mouse into changes.

import { byId } from "../shared/elements";
import { forgetOverview } from "./drawing/axis";
import { chainAt } from "./causes";
import { flowsOf } from "./drawing/flows";
import { buildRowChoice } from "./drawing/gutter";
import { listenToEmbedder } from "./embedded";
import { listen } from "./input";
import { accounted, buildLayers, buildLegend, showNumbers } from "./legend";
import { readModel } from "./data/model";
import { buildHeading } from "./panel";
import { buildPanels } from "./panels/panels";
import { lineTimes } from "./panels/program";
import { listenForSaving, pngOf, svgOf } from "./saving";
import { Timeline } from "./timeline";
import { pathOver, pathParts } from "./drawing/path";
import { type Alignment, differencesOf } from "./data/pair";
import { loadsOf, siteTimes } from "./data/sites";
import { bandsOf, counterOf } from "./data/tracks";
import { edgeBytes, type Place, trafficOf } from "./data/traffic";
import { statisticsOf } from "./data/statistics";
import { sharesOf } from "./drawing/together";
import { xOf } from "./view";

export async function start(): Promise<void> {
  const model = await readModel(),
    timeline = new Timeline(model),
    { view } = timeline;
  buildHeading(model);
  buildLegend(model, view, () => {
    forgetOverview();
    timeline.changed();
  });
  buildLayers(model, view, timeline.arrange);
  buildRowChoice(timeline);
  buildPanels(timeline);
  listen(timeline);
  listenForSaving(timeline);
  listenToEmbedder(timeline.show);
  timeline.widenGutter();
  new ResizeObserver(timeline.resize).observe(byId("rows"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", timeline.changed);
  timeline.resize();
  timeline.draw();
  timeline.followLink();
  showNumbers(model, view);
  byId("loading").remove();
  // For the console, and for tests.
  const gantt = {
    model,
    view,
    timeline,
    xOf: (time: number) => xOf(view, time),
    chainAt: (row: number, time: number) => chainAt(model, row, time),
    pathParts: (begin: number, end: number) => pathParts(model, begin, end),
    pathOver: (begin: number, end: number, stretches: number) =>
      pathOver(model, begin, end, stretches).map(([kind, times]) => [kind, [...times]]),
    flowsOf: (entry: number, row: number) => flowsOf(model, entry, row),
    sharesOf: (row: number, begin: number, end: number) =>
      sharesOf(model, model.base, view.places[row].lanes[0], begin, end).map(([group, share]) => [group.id, share]),
    statisticsOf: (begin: number, end: number) => statisticsOf(model, begin, end),
    trafficOf: (begin: number, end: number, kind: number, by: Place) => trafficOf(model, begin, end, kind, by),
    edgeBytes: (begin: number, end: number) => [...edgeBytes(model, begin, end)],
    siteTimes: (begin: number, end: number) => siteTimes(model, begin, end),
    lineTimes: (begin: number, end: number) => [...lineTimes(model, begin, end)],
    loadsOf: (begin: number, end: number) => loadsOf(model, begin, end),
    differencesOf: (begin: number, end: number) => differencesOf(model, begin, end),
    pngOf: () => pngOf(timeline).toDataURL(),
    svgOf: () => svgOf(timeline),
    align: (by: Alignment) => timeline.align(by),
    bandsOf: (begin: number, end: number, parts: number) => bandsOf(model, begin, end, parts),
    counterOf: (name: "memory" | "queues") => counterOf(model, name),
    accounted: (begin: number, end: number) => accounted(model, begin, end),
  };
  Object.assign(globalThis, { gantt });
}
