// What a run says about calls and tags: colours and numbers on the graph.

import { calledName, duration, percent } from "../../../../views/web/shared/numbers";
import type { LiveSite, LoopProgress, ProgramGraph, ProgramNode, SiteTimes } from "../protocol";
import type { Colouring, Desk, TextPlace } from "../store";
import { shareColour, threadColour } from "./colours";

const PLAIN = "#D9DDE4"; // statements that run on no thread of their own
const UNMEASURED = "#E5E7EB";

const wrong = new WeakMap<ProgramGraph, Set<string | null>>();

/** Whether an error is in a statement or in the head of a frame. */
export function isWrong({ graph }: Desk, id: string): boolean {
  if (!graph) return false;
  if (!wrong.has(graph)) wrong.set(graph, new Set(graph.diagnostics.filter((one) => one.severity === "error").map((one) => one.node)));
  return wrong.get(graph)!.has(id);
}

export function fillOf(desk: Desk, node: ProgramNode): string {
  if (!node.call) return PLAIN;
  if (desk.colouring === "critical") return shareColour(criticalShare(desk, node));
  if (desk.colouring === "thread") {
    return threadColour(desk.session?.colours ?? [], desk.graph?.threads ?? [], node.thread);
  }
  const sites = desk.sites?.sites ?? [];
  const site = atSame(sites, ranAt(desk, node.id));
  return site ? shareColour(shareOf(site, sites, desk.colouring)) : UNMEASURED;
}

function shareOf(site: SiteTimes, sites: SiteTimes[], colouring: Colouring): number {
  if (colouring === "cpu") return site.cpu ?? 0;
  const value = (one: SiteTimes) => (colouring === "waiting" ? (one.waiting ?? 0) : one.seconds);
  const whole = sites.reduce((sum, one) => sum + value(one), 0);
  return whole > 0 ? value(site) / whole : 0;
}

/** How much of the critical path a call is. */
function criticalShare(desk: Desk, node: ProgramNode): number {
  return atSame(desk.sites?.critical ?? [], ranAt(desk, node.id))?.share ?? 0;
}

/** What a call does or did in the run that is shown, as `state|text`: equal ones draw nothing anew. */
export function badgeOf(desk: Desk, node: ProgramNode): string {
  const place = ranAt(desk, node.id);
  const site = atSame(desk.sites?.sites ?? [], place);
  if (site) return `|${site.calls} × ${duration(1e9 * (site.seconds / Math.max(site.calls, 1)))}`;
  const isHere = (one: LiveSite) => one.line === place?.line && calledName(one.name.split(":")[0]) === plain(node);
  return liveBadge(overviewOf(desk)?.sites.filter(isHere) ?? []);
}

/** What the call sites of one statement do: several where a loop is unrolled. */
function liveBadge(sites: LiveSite[]): string {
  if (!sites.length) return "|";
  const sum = (value: (one: LiveSite) => number) => sites.reduce((all, one) => all + value(one), 0);
  const used = sum((one) => one.share * one.seconds) / (sum((one) => one.seconds) || 1);
  const active = sites.some((one) => one.state.startsWith("running"));
  return `${active ? "active" : ""}|${sum((one) => one.calls)} × · ${percent(used)}`;
}

/** Where a statement stood in the text of the run that is shown. */
const ranAt = (desk: Desk, id: string) => (desk.shownRun ? desk.ranAt[desk.shownRun]?.get(id) : undefined);

const atSame = <One extends TextPlace>(all: One[], place?: TextPlace) =>
  all.find((one) => one.line === place?.line && one.column === place.column);

/** How far the loop of a frame is. */
export function progressOf(desk: Desk, frame: string): string {
  const loop = overviewOf(desk)?.loops.find((one) => one.line === ranAt(desk, frame)?.line);
  return loop ? progressText(loop) : "";
}

/** How far a loop is: `120 of 500`. */
export function progressText(loop: LoopProgress): string {
  if (loop.total === null) return `${loop.done}`;
  return `${loop.done} of ${loop.bound ? "at most " : ""}${loop.total}`;
}

const plain = (node: ProgramNode) => node.module ?? node.label.split(".").at(-1)!;

/** How many pieces of a tag wait for a thread now. */
export function depthOf(desk: Desk, tag: string, thread: string | null): string {
  const queue = overviewOf(desk)?.queues.find((one) => one.tag === tag && one.thread === thread);
  if (!queue?.now) return "";
  return queue.limit ? `${queue.now}/${queue.limit}` : String(queue.now);
}

const overviewOf = (desk: Desk) => (desk.shownRun && !desk.sites ? desk.overviews[desk.shownRun] : undefined);
