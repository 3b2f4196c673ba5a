// The cube in memory: of each metric the values that are not 0, by call path and location, and sums of them.

async function readCube() {
  const cube = JSON.parse(document.getElementById("head").textContent);
  const bytes = await inflated(document.getElementById("data").textContent);
  const total = cube.metrics.reduce((sum, metric) => sum + metric.count, 0);
  const values = new Float64Array(bytes.buffer, 0, total),
    cells = new Uint32Array(bytes.buffer, 8 * total, total);
  let from = 0;
  for (const metric of cube.metrics) {
    metric.values = values.subarray(from, from + metric.count);
    metric.cells = cells.subarray(from, from + metric.count);
    from += metric.count;
  }
  cube.paths = cube.paths.map(([parent, kind, name, place]) => ({ parent, kind, name, place }));
  cube.locations = cube.locations.map(([machine, node, rank, thread, name]) => ({ machine, node, rank, thread, name }));
  const longest = new Map(cube.longest.map((row) => [`${row[0]} ${row[1]}`, row]));
  // The longest single wait of a metric in a call path, or undefined.
  cube.longestOf = (metric, path) => {
    const [, , location, begin, end, value] = longest.get(`${metric} ${path}`) ?? [];
    return location === undefined ? undefined : { rank: cube.locations[location].rank, begin, end, value };
  };
  return cube;
}

// Calls back with the call path, the location and the value of each part of a metric: with what it includes,
// or without the metrics below it.
function eachValue(cube, metric, own, take) {
  const width = cube.locations.length;
  const go = (part, sign) =>
    part.cells.forEach((cell, i) => take(Math.floor(cell / width), cell % width, sign * part.values[i]));
  go(cube.metrics[metric], 1);
  if (own) for (const part of cube.metrics) if (part.parent === metric) go(part, -1);
}

function sumOf(cube, metric, own) {
  let sum = 0;
  eachValue(cube, metric, own, (path, location, value) => (sum += value));
  return sum;
}

// Sums by call path: of each alone, and with all that it called.
function sumsByPath(cube, metric, own) {
  const alone = new Float64Array(cube.paths.length);
  eachValue(cube, metric, own, (path, location, value) => (alone[path] += value));
  const whole = alone.slice();
  for (let path = cube.paths.length - 1; path > 0; path--) {
    const parent = cube.paths[path].parent;
    if (parent >= 0) whole[parent] += whole[path];
  }
  return { alone, whole };
}

// Sums by location of a call path: alone, or with all that it called.
function sumsByLocation(cube, metric, own, chosen, withCalled) {
  const inside = new Uint8Array(cube.paths.length);
  cube.paths.forEach((path, number) => {
    inside[number] = number === chosen || (withCalled && path.parent >= 0 && inside[path.parent]);
  });
  const sums = new Float64Array(cube.locations.length);
  eachValue(cube, metric, own, (path, location, value) => {
    if (inside[path]) sums[location] += value;
  });
  return sums;
}

// The call paths that waited the longest (or, of a difference, changed the most): metric, call path, sum.
function longestWaits(cube, most) {
  const found = [];
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
function systemNodes(cube) {
  const nodes = [],
    known = new Map();
  const node = (key, parent, label, location = -1) => {
    if (!known.has(key)) {
      known.set(key, nodes.length);
      nodes.push({ parent, label, locations: [] });
    }
    const place = known.get(key);
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
