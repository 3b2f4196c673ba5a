// Numbers and names as people read them.

const UNITS: [string, number][] = [
  ["s", 1e9],
  ["ms", 1e6],
  ["µs", 1e3],
  ["ns", 1],
];

export function unitFor(ns: number): [string, number] {
  return UNITS.find(([, factor]) => ns >= 0.9995 * factor) || UNITS[3];
}

export function decimal(value: number, digits: number): string {
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function threeDigits(value: number): string {
  return decimal(value, value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2);
}

export function duration(ns: number): string {
  const [unit, factor] = unitFor(ns);
  return factor === 1 ? `${Math.round(ns)} ns` : `${threeDigits(ns / factor)} ${unit}`;
}

// A moment of the run, as exact as the length that matters.
export function moment(ns: number, resolution: number, like = ns): string {
  const [unit, factor] = unitFor(Math.max(Math.abs(like), resolution));
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(factor / Math.max(resolution, 1)))));
  return `${decimal(ns / factor, digits)} ${unit}`;
}

// What is called, as the program writes it: `smooth` of the call site `smooth [l = 2]` of a loop that is unrolled.
export const calledName = (label: string): string => label.split(" [", 1)[0];

export function bytes(count: number): string {
  let power = 0;
  while (count >= 1024 && power < 5) [count, power] = [count / 1024, power + 1];
  return power ? `${threeDigits(count)} ${"KMGTP"[power - 1]}iB` : `${count} B`;
}

export function percent(share: number): string {
  return share > 0 && share < 0.005 ? "<1 %" : `${Math.round(100 * share)} %`;
}

export function counted(number: number, word: string, plural = `${word}s`): string {
  return `${number.toLocaleString("en")} ${number === 1 ? word : plural}`;
}
