// Beside the picture: legend with numbers of the window, layers, what is selected, the tip, search.

function buildHeading(model) {
  byId("name").textContent = model.title;
  byId("facts").textContent = byId("facts").title = model.facts.join(" · ");
  const notes = byId("notes"),
    lines = model.notes;
  notes.hidden = !lines.length;
  if (!lines.length) return;
  notes.classList.toggle("short", lines.length === 1);
  notes.querySelector("summary").textContent =
    lines.length === 1 ? lines[0] : `${lines[0]} (${lines.length - 1} more)`;
  notes.querySelector("ul").replaceChildren(...lines.slice(1).map((line) => element("li", line)));
}

const SECTIONS = [
  ["call", "Modules"],
  ["wait", "Waits"],
  ["routine", "Routines"],
];
const FEW = 10;

function buildLegend(model, view, changed) {
  const legend = byId("legend"),
    total = sumsBetween(model, model.begin, model.end);
  for (const [category, title] of SECTIONS) {
    const groups = model.groups.filter((group) => group.category === category);
    if (!groups.length) continue;
    if (category === "routine") groups.sort((a, b) => total.get(b.id) - total.get(a.id));
    const section = element("section", undefined, { class: "group", "aria-label": title });
    const head = element("header");
    const all = element("button", "all or none", {
      type: "button",
      "aria-label": `${title}: show all or none`,
    });
    head.append(element("h3", title), all);
    if (!legend.children.length)
      head.append(
        element("span", "time", { class: "time" }),
        element("span", "share", { class: "share", title: "Of the time of all ranks that are shown" }),
      );
    section.append(head, ...groups.map((group) => legendKey(group, view, changed)));
    all.onclick = () => toggleAll(groups, view, changed);
    if (groups.length > FEW) shorten(section, groups);
    legend.append(section);
  }
}

function legendKey(group, view, changed) {
  const key = element("label", undefined, {
    class: "key",
    title: group.name,
    "data-category": group.category,
  });
  group.box = element("input", undefined, { type: "checkbox", "data-group": group.id });
  group.box.checked = true;
  group.box.style.setProperty("--swatch", group.colour);
  group.box.classList.toggle("hatched", Boolean(group.hatch));
  group.time = element("span", "", { class: "time" });
  group.share = element("span", "", { class: "share" });
  group.box.onchange = () => {
    if (group.box.checked) view.hidden.delete(group.id);
    else view.hidden.add(group.id);
    changed();
  };
  key.append(group.box, element("span", group.name, { class: "name" }), group.time, group.share);
  return key;
}

function toggleAll(groups, view, changed) {
  const show = groups.some((group) => view.hidden.has(group.id));
  for (const group of groups) {
    group.box.checked = show;
    if (show) view.hidden.delete(group.id);
    else view.hidden.add(group.id);
  }
  changed();
}

function shorten(section, groups) {
  const rest = [...section.querySelectorAll(".key")].slice(FEW);
  const more = element("button", `${groups.length - FEW} more`, { type: "button", class: "more" });
  for (const key of rest) key.hidden = true;
  more.onclick = () => {
    for (const key of rest) key.hidden = false;
    more.remove();
  };
  section.append(more);
}

function buildLayers(model, view, changed) {
  const names = {
    lines: model.lines,
    nested: model.nested,
    memory: "memory held",
    queues: "queue depths",
    marks: "marks",
  };
  const there = {
    lines: model.messages.sent.length,
    nested: model.lanes.some((lane) => lane.nested),
    marks: model.marks.length,
    memory: model.series.some((series) => series.name === "memory"),
    queues: model.series.some((series) => series.name === "queues"),
  };
  for (const [layer, name] of Object.entries(names)) {
    if (!there[layer]) continue;
    const key = element("label", undefined, { class: "key" });
    const box = element("input", undefined, { type: "checkbox", "data-layer": layer });
    box.checked = view.layers[layer];
    box.onchange = () => {
      view.layers[layer] = box.checked;
      changed();
    };
    key.append(
      box,
      element("span", name, { class: "name" }),
      element("span", "", { class: "time", id: `about-${layer}` }),
    );
    byId("layers").append(key);
  }
  byId("layers").hidden = byId("layers").children.length === 1;
}

// Time of each group of the legend between two moments.
function sumsBetween(model, begin, end) {
  const times = timesBetween(model, begin, end),
    sums = new Map();
  model.kinds.forEach((kind, number) => sums.set(kind.group, (sums.get(kind.group) || 0) + times[number]));
  return sums;
}

// The numbers of the window: time in each group, and its share of the time of all ranks.
function showNumbers(model, view) {
  const length = view.end - view.begin,
    step = length / 1000;
  byId("window").replaceChildren(
    element("strong", duration(length)),
    " in view",
    element("br"),
    element("span", `${moment(view.begin, step, view.end)} to ${moment(view.end, step)}`),
  );
  const sums = sumsBetween(model, view.begin, view.end);
  for (const group of model.groups) {
    const time = sums.get(group.id) || 0;
    group.time.textContent = time ? duration(time) : "–";
    group.share.textContent = time ? percent(time / length / model.rows.length) : "";
  }
  const about = byId("about-lines");
  if (about) about.textContent = view.lines.left ? "too many: zoom in" : "";
}

function describe(model, view, found) {
  const base = baseEntry(model, found);
  return base >= 0 && blocksIn(model.base, base) === 1
    ? describeBlock(model, base, found.row)
    : describeMerged(model, found);
}

const STATES = ["", "it failed", "not finished: the trace ends here"];

function describeBlock(model, entry, rowNumber) {
  const { base } = model,
    kind = model.kinds[base.kind[base.first[entry]]],
    row = model.rows[rowNumber];
  const length = base.end[entry] - base.start[entry];
  const facts = [
    ["place", kind.place],
    ["row", row.where],
    ["TPH", tphText(model, model.tph[entry])],
  ];
  if (model.partition[entry] && model.partitions > 1)
    facts.push(["partition", `${model.partition[entry] - 1}`]);
  facts.push(["start", moment(base.start[entry], Math.max(1, length / 100))], ["duration", duration(length)]);
  if (kind.category === "call" && model.state[entry] < 2)
    facts.push(["CPU", length > 0 ? `${percent(model.cpu[entry] / length)} of it` : ""]);
  if (kind.category === "wait") facts.push(["waits", kind.reason], ["call", kind.call], ["tag", kind.tag]);
  if (model.peer[entry]) facts.push(["from rank", `${model.peer[entry] - 1}`]);
  facts.push(["reads", kind.reads], ["defines", kind.defines], ["note", STATES[model.state[entry]]]);
  return article(kind.label, kind.colour, facts);
}

function tphText(model, number) {
  if (!number) return "";
  const { number: name, text } = model.tphs[number - 1];
  return text ? `${text} (TPH ${name})` : name;
}

function describeMerged(model, found) {
  const { level, entry } = found,
    row = model.rows[found.row];
  const length = level.end[entry] - level.start[entry],
    parts = [];
  for (let p = level.first[entry]; p < level.first[entry + 1]; p++) {
    parts.push({ kind: model.kinds[level.kind[p]], time: level.time[p], count: level.count[p] });
  }
  parts.sort((a, b) => b.time - a.time);
  const facts = parts
    .slice(0, 8)
    .map(({ kind, time, count }) => [
      kind.short,
      [
        counted(count, kind.category === "wait" ? "wait" : "call"),
        duration(time),
        percent(length ? time / length : 1),
      ].join(", "),
    ]);
  if (parts.length > 8) facts.push(["others", counted(parts.length - 8, "kind")]);
  facts.push(
    ["row", row.where],
    ["start", moment(level.start[entry], Math.max(1, length / 100))],
    ["length", duration(length)],
  );
  const made = article(
    `${counted(blocksIn(level, entry), "block")} drawn together`,
    parts[0].kind.colour,
    facts,
  );
  const finest = level === model.base;
  made.append(
    element("p", finest ? "The file holds them merged; see the note above." : "Zoom in to see each of them."),
  );
  return made;
}

function describeSeries(model, view, series, x) {
  const time = timeAt(view, x);
  let low = 0,
    high = series.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (series.time[middle] > time) high = middle;
    else low = middle + 1;
  }
  const shown = (value) =>
    series.name === "memory" ? bytes(value) : counted(value, "entry").replace(/entrys/, "entries");
  const facts = [
    ["now", shown(low ? series.value[low - 1] : 0)],
    ["peak", shown(series.peak)],
    ["row", model.rows[series.row].where],
    ["time", moment(time, 1 / pixels(view))],
    ["note", series.note],
  ];
  return article(series.name === "memory" ? "memory held" : "queue depths, all queues", styles().soft, facts);
}

function describeMark(model, mark) {
  return article(mark.text, styles().ink, [
    ["mark", "set by the program or a tool"],
    ["row", model.rows[mark.row].where],
    ["time", moment(mark.time, 1000)],
  ]);
}

function article(title, colour, facts) {
  const made = element("div", undefined, { class: "block" }),
    head = element("h4"),
    swatch = element("i"),
    list = element("dl");
  swatch.style.setProperty("--swatch", colour);
  head.append(swatch, title);
  for (const [name, value] of facts) if (value) list.append(element("dt", name), element("dd", value));
  made.append(head, list);
  return made;
}

function showTip(content, x, y) {
  const tip = byId("tip");
  tip.hidden = !content;
  if (!content) return;
  tip.replaceChildren(content);
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(4, x + 16 + width > innerWidth ? x - 12 - width : x + 16)}px`;
  tip.style.top = `${Math.max(4, y + 18 + height > innerHeight ? y - 10 - height : y + 18)}px`;
}
