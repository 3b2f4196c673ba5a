// Filters: `module == "step" and duration > 10 ms and rank in 4..7`.

import { calledName } from "../../shared/numbers";
import { blocksIn, laneOf } from "./levels";
import type { Kind, Model, Row } from "./model";

type Value = number | string;
type Test = (entry: number) => boolean;

// What a filter asks of a block, by name: text (compared without regard to case), or a number (times in ns).
type Field = (model: Model, entry: number, row: Row) => Value;

const kind = (model: Model, entry: number) => model.kinds[model.base.kind[model.base.first[entry]]];

const calledIn = ({ category, label }: Kind) => (category === "call" ? calledName(label) : label);

const FIELDS: Record<string, Field> = {
  module: (model, entry) => kind(model, entry).module,
  call: (model, entry) => calledIn(kind(model, entry)),
  label: (model, entry) => kind(model, entry).label,
  category: (model, entry) => kind(model, entry).category,
  place: (model, entry) => kind(model, entry).place,
  tag: (model, entry) => kind(model, entry).tags,
  thread: (_, __, row) => row.thread,
  processor: (_, __, row) => row.group,
  rank: (_, __, row) => row.rank,
  late: (model, entry) => model.late[entry] - 1,
  tph: (model, entry) => (model.tph[entry] ? Number(model.tphs.at(model.tph[entry]).number) : 0),
  start: ({ base }, entry) => base.start[entry],
  end: ({ base }, entry) => base.end[entry],
  duration: ({ base }, entry) => base.end[entry] - base.start[entry],
  cpu: ({ base, cpu }, entry) => (100 * cpu[entry]) / Math.max(1, base.end[entry] - base.start[entry]),
  blocks: ({ base }, entry) => blocksIn(base, entry),
};

const UNITS: Record<string, number> = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, "%": 1 };
const TOKEN = /\s*(?:("[^"]*"|'[^']*')|(\d+(?:\.\d+)?)|(==|!=|<=|>=|<|>|~|\(|\)|\.\.)|([\p{L}_%][\p{L}\w.]*|%))/uy;

// Whether a text is meant as a filter, not as words to search for.
export function isFilter(text: string): boolean {
  return /==|!=|[<>~]|\bin\s+\d/.test(text);
}

export class FilterError extends Error {}

// The entries of the finest level that fit; throws a `FilterError` that says what was expected.
export function filtered(model: Model, text: string): number[] {
  const test = new Parser(model, text).whole(),
    found: number[] = [];
  for (let entry = 0; entry < model.base.start.length; entry++) if (test(entry)) found.push(entry);
  return found;
}

type Token = { text: string; kind: "text" | "number" | "sign" | "name" };

class Parser {
  private tokens: Token[] = [];
  private at = 0;

  constructor(
    private model: Model,
    text: string,
  ) {
    TOKEN.lastIndex = 0;
    for (const source = text.trimEnd(); TOKEN.lastIndex < source.length;) {
      const from = TOKEN.lastIndex,
        found = TOKEN.exec(source);
      if (!found) throw new FilterError(`"${source.slice(from).trim()}" is not understood`);
      const [, quoted, number, sign, name] = found;
      if (quoted !== undefined) this.tokens.push({ text: quoted.slice(1, -1), kind: "text" });
      else if (number !== undefined) this.tokens.push({ text: number, kind: "number" });
      else if (sign !== undefined) this.tokens.push({ text: sign, kind: "sign" });
      else this.tokens.push({ text: name, kind: "name" });
    }
  }

  whole(): Test {
    const test = this.either();
    if (this.at < this.tokens.length) this.expected("and, or, or the end");
    return test;
  }

  private either(): Test {
    let test = this.both();
    while (this.took("or")) {
      const [left, right] = [test, this.both()];
      test = (entry) => left(entry) || right(entry);
    }
    return test;
  }

  private both(): Test {
    let test = this.single();
    while (this.took("and")) {
      const [left, right] = [test, this.single()];
      test = (entry) => left(entry) && right(entry);
    }
    return test;
  }

  private single(): Test {
    if (this.took("not")) {
      const inner = this.single();
      return (entry) => !inner(entry);
    }
    if (this.took("(")) {
      const inner = this.either();
      if (!this.took(")")) this.expected(")");
      return inner;
    }
    return this.comparison();
  }

  private comparison(): Test {
    const name = this.tokens[this.at]?.text ?? "";
    if (this.tokens[this.at]?.kind !== "name" || !Object.hasOwn(FIELDS, name))
      this.expected(Object.keys(FIELDS).join(", "));
    this.at++;
    const { model } = this,
      field = FIELDS[name];
    const get = (entry: number) => field(model, entry, model.rows[model.lanes[laneOf(model.base, entry)].row]);
    if (this.took("in")) {
      const low = this.value();
      if (!this.took("..")) this.expected("..");
      const high = this.value();
      return (entry) => get(entry) >= low && get(entry) <= high;
    }
    const sign = this.tokens[this.at]?.text ?? "",
      compare = COMPARISONS[sign];
    if (!compare) this.expected("==, !=, <, <=, >, >=, ~ (contains) or in");
    this.at++;
    const value = this.value();
    return (entry) => compare(get(entry), value);
  }

  // A number, with a unit or without, or text, in quotes or a word.
  private value(): Value {
    const token = this.tokens[this.at];
    if (!token || token.kind === "sign") this.expected("a number or text");
    this.at++;
    if (token.kind !== "number") return token.text.toLowerCase();
    const unit = this.tokens[this.at];
    if (unit?.kind !== "name" || !Object.hasOwn(UNITS, unit.text)) return Number(token.text);
    this.at++;
    return Number(token.text) * UNITS[unit.text];
  }

  private took(text: string): boolean {
    const found = this.tokens[this.at]?.text === text && this.tokens[this.at].kind !== "text";
    if (found) this.at++;
    return found;
  }

  private expected(what: string): never {
    const token = this.tokens[this.at];
    throw new FilterError(`${token ? `"${token.text}"` : "the end"} instead of ${what}`);
  }
}

const lower = (value: Value): Value => (typeof value === "string" ? value.toLowerCase() : value);

const COMPARISONS: Record<string, (left: Value, right: Value) => boolean> = {
  "==": (left, right) => lower(left) === right,
  "!=": (left, right) => lower(left) !== right,
  "<": (left, right) => left < right,
  "<=": (left, right) => left <= right,
  ">": (left, right) => left > right,
  ">=": (left, right) => left >= right,
  "~": (left, right) => String(lower(left)).includes(String(right)),
};
