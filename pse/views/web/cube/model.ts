// The cube in memory: of each metric the values that are not 0, by call path and location, and sums of them.

import { byId } from "../shared/elements";
import { inflated } from "../shared/inflate";

export interface Metric {
  name: string;
  title: string;
  meaning: string;
  unit: string;
  parent: number;
  count: number;
  wait: boolean;
  values: Float64Array;
  cells: Uint32Array;
}

export interface CallPath {
  parent: number;
  kind: string;
  name: string;
  place: string;
}

export interface Location {
  machine: string;
  node: string;
  rank: number;
  thread: number;
  name: string;
}

// What the page embeds: `pse/views/cube/_cube_page.py` writes it.
interface Head {
  title: string;
  facts: string[];
  notes: string[];
  metrics: Metric[];
  paths: [number, string, string, string][];
  locations: [string, string, number, number, string][];
  whole: Record<string, number>;
  difference: boolean;
  longest: [number, number, number, number, number, number][];
  timeline: string;
}

export interface Cube extends Omit<Head, "paths" | "locations" | "longest"> {
  paths: CallPath[];
  locations: Location[];
  longestOf(metric: number, path: number): Longest | undefined;
}

export interface Longest {
  rank: number;
  begin: number;
  end: number;
  value: number;
}

export interface SystemNode {
  parent: number;
  label: string;
  locations: number[];
}

export async function readCube(): Promise<Cube> {
  const head: Head = JSON.parse(byId("head").textContent!);
  const bytes = await inflated(byId("data").textContent!);
  const total = head.metrics.reduce((sum, metric) => sum + metric.count, 0);
  const values = new Float64Array(bytes.buffer, 0, total),
    cells = new Uint32Array(bytes.buffer, 8 * total, total);
  let from = 0;
  for (const metric of head.metrics) {
    metric.values = values.subarray(from, from + metric.count);
    metric.cells = cells.subarray(from, from + metric.count);
    from += metric.count;
  }
  const paths = head.paths.map(([parent, kind, name, place]) => ({ parent, kind, name, place }));
  const locations = head.locations.map(([machine, node, rank, thread, name]) => ({
    machine,
    node,
    rank,
    thread,
    name,
  }));
  const longest = new Map(head.longest.map((row) => [`${row[0]} ${row[1]}`, row]));
  // The longest single wait of a metric in a call path, or undefined.
  const longestOf = (metric: number, path: number) => {
    const row = longest.get(`${metric} ${path}`);
    return row && { rank: locations[row[2]].rank, begin: row[3], end: row[4], value: row[5] };
  };
  return { ...head, paths, locations, longestOf };
}

// Calls back with the call path, the location and the value of each part of a metric: with what it includes,
// or without the metrics below it.
export function eachValue(
  cube: Cube,
  metric: number,
  own: boolean,
  take: (path: number, location: number, value: number) => void,
): void {
  const width = cube.locations.length;
  const go = (part: Metric, sign: number) =>
    part.cells.forEach((cell, i) => take(Math.floor(cell / width), cell % width, sign * part.values[i]));
  go(cube.metrics[metric], 1);
  if (own) for (const part of cube.metrics) if (part.parent === metric) go(part, -1);
}

// Sums by call path: of each alone, and with all that it called.
export function sumsByPath(
  cube: Cube,
  metric: number,
  own: boolean,
): { alone: Float64Array; whole: Float64Array } {
  const alone = new Float64Array(cube.paths.length);
  eachValue(cube, metric, own, (path, _, value) => (alone[path] += value));
  const whole = alone.slice();
  for (let path = cube.paths.length - 1; path > 0; path--) {
    const parent = cube.paths[path].parent;
    if (parent >= 0) whole[parent] += whole[path];
  }
  return { alone, whole };
}

// Sums by location of a call path: alone, or with all that it called.
export function sumsByLocation(
  cube: Cube,
  metric: number,
  own: boolean,
  chosen: number,
  withCalled: boolean,
): Float64Array {
  const inside = new Uint8Array(cube.paths.length);
  cube.paths.forEach((path, number) => {
    const below = withCalled && path.parent >= 0 && inside[path.parent];
    inside[number] = number === chosen || below ? 1 : 0;
  });
  const sums = new Float64Array(cube.locations.length);
  eachValue(cube, metric, own, (path, location, value) => {
    if (inside[path]) sums[location] += value;
  });
  return sums;
}

// The call paths that waited the longest (or, of a difference, changed the most): metric, call path, sum.
export function longestWaits(cube: Cube, most: number): { metric: number; path: number; sum: number }[] {
  const found: { metric: number; path: number; sum: number }[] = [];
  cube.metrics.forEach((metric, number) => {
    if (!metric.wait) return;
    const own = cube.metrics.some((other) => other.wait && other.parent === number);
    sumsByPath(cube, number, own).alone.forEach((sum, path) => {
      if (Math.abs(sum) >= 1) found.push({ metric: number, path, sum });
    });
  });
  return found.sort((a, b) => Math.abs(b.sum) - Math.abs(a.sum)).slice(0, most);
}

// The system as nodes of a tree; machines are left out if there is one, threads if no rank has several.
export function systemNodes(cube: Cube): SystemNode[] {
  const nodes: SystemNode[] = [],
    known = new Map<string, number>();
  const node = (key: string, parent: number, label: string, location = -1): number => {
    if (!known.has(key)) {
      known.set(key, nodes.length);
      nodes.push({ parent, label, locations: [] });
    }
    const place = known.get(key)!;
    for (let up = place; location >= 0 && up >= 0; up = nodes[up].parent) nodes[up].locations.push(location);
    return place;
  };
  const several = new Set(cube.locations.map((each) => each.machine)).size > 1,
    threads = cube.locations.some((each) => each.thread > 0);
  cube.locations.forEach((each, number) => {
    const machine = several ? node(`m ${each.machine}`, -1, each.machine) : -1;
    const host = node(`n ${each.machine} ${each.node}`, machine, each.node || "node");
    const name = each.name ? ` · ${each.name}` : "";
    const rank = node(`r ${each.rank}`, host, `rank ${each.rank}${threads ? "" : name}`, threads ? -1 : number);
    if (threads) node(`t ${each.rank} ${each.thread}`, rank, `thread ${each.thread}${name}`, number);
  });
  return nodes;
}
