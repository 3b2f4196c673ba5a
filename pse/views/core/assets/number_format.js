// Numbers and names as people read them.

const UNITS = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];

function unitFor(ns) {
  return UNITS.find(([, factor]) => ns >= 0.9995 * factor) || UNITS[3];
}

function decimal(value, digits) {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

function threeDigits(value) {
  return decimal(value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

function duration(ns) {
  const [unit, factor] = unitFor(ns);
  return factor === 1 ? `${Math.round(ns)} ns` : `${threeDigits(ns / factor)} ${unit}`;
}

// A moment of the run, as exact as the length that matters.
function moment(ns, resolution, like = ns) {
  const [unit, factor] = unitFor(Math.max(Math.abs(like), resolution));
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(factor / Math.max(resolution, 1)))));
  return `${decimal(ns / factor, digits)} ${unit}`;
}

function bytes(count) {
  let power = 0;
  while (count >= 1024 && power < 5) [count, power] = [count / 1024, power + 1];
  return power ? `${threeDigits(count)} ${"KMGTP"[power - 1]}iB` : `${count} B`;
}

function percent(share) {
  return share > 0 && share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`;
}

function counted(number, word) {
  return `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
}

// An element with text and attributes; what comes from a trace is text always, never markup.
function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const byId = (id) => document.getElementById(id);
