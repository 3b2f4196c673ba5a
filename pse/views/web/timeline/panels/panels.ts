// Panels below the rows: what the window, or the selected range, says from another side.

import { byId, element, refill } from "../../shared/elements";
import type { Model } from "../data/model";
import type { TimelineState } from "../state";
import type { View } from "../view";
import { differencesPanel } from "./differences";
import { graphPanel } from "./graph";
import { matrixPanel } from "./matrix";
import type { Panel } from "./panel";
import { programPanel } from "./program";
import { ranksPanel } from "./ranks";
import { tracksPanel } from "./tracks";

const PANELS: Panel[] = [differencesPanel, tracksPanel, ranksPanel, matrixPanel, graphPanel, programPanel];

export function buildPanels(timeline: TimelineState): void {
  const there = panelsOf(timeline.model);
  byId("tabs").replaceChildren(
    ...there.map(({ id, title }, number) => {
      const tab = element("button", title, { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": "panel", title: `${title} (${number + 1})` });
      tab.onclick = () => togglePanel(timeline, id);
      return tab;
    }),
  );
}

export function panelsOf(model: Model): Panel[] {
  return PANELS.filter((panel) => panel.there(model));
}

// Shows a panel, or none where it is shown.
export function togglePanel(timeline: TimelineState, id: string): void {
  const { view } = timeline;
  view.panel = view.panel === id ? "" : id;
  showPanel(timeline);
  timeline.resize();
}

export function showPanel(timeline: TimelineState): void {
  const { model, view } = timeline,
    panel = panelsOf(model).find(({ id }) => id === view.panel),
    card = byId("panel");
  card.hidden = !panel;
  for (const tab of byId("tabs").children) tab.setAttribute("aria-selected", String(tab.id === `tab-${panel?.id}`));
  if (!panel) return;
  card.setAttribute("aria-labelledby", `tab-${panel.id}`);
  const scroll = card.dataset.panel === panel.id ? card.scrollTop : -1;
  card.dataset.panel = panel.id;
  refill(card, panel.fill(timeline, ...timeIn(view), () => showPanel(timeline)));
  // At first where something is: the selected line, or one with time.
  const first = card.querySelector<HTMLElement>("[aria-current], .timed");
  card.scrollTop = scroll < 0 && first ? first.offsetTop - 40 : scroll;
}

// The selected range, or the window.
export function timeIn({ range, begin, end }: View): [number, number] {
  return range ? [range.begin, range.end] : [begin, end];
}
