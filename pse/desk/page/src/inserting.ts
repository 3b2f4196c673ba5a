// What can be put into a program: modules, and statements whose parts are asked for.

import type { Insertion } from "./graph/dropping";
import { edit } from "./program";
import { type AskedField, type PaletteItem, type StatementForm, update } from "./store";

const written = (before: string, value: string) => (value ? ` ${before} ${value}` : "");

export const STATEMENTS: StatementForm[] = [
  {
    statement: "PARALLEL",
    doc: "calls that run on all processors",
    fields: [{ name: "partition", label: "Over the partition" }],
    text: ({ partition }) => `PARALLEL${written("over", partition)} {\n}`,
  },
  {
    statement: "for",
    doc: "a loop that counts",
    fields: [
      { name: "counter", label: "Counter", value: "k", required: true },
      { name: "lower", label: "From", value: "0", required: true },
      { name: "upper", label: "To (not included)", value: "10", required: true },
      { name: "inflight", label: "Iterations in flight" },
    ],
    text: ({ counter, lower, upper, inflight }) => `for ${counter} in ${lower} .. ${upper}${written("inflight", inflight)} {\n}`,
  },
  {
    statement: "while",
    doc: "a loop with a condition",
    fields: [
      { name: "condition", label: "As long as", required: true },
      { name: "limit", label: "Iterations at most", value: "1000", required: true },
    ],
    text: ({ condition, limit }) => `while ${condition} max ${limit} {\n}`,
  },
  {
    statement: "if",
    doc: "a branch",
    fields: [{ name: "condition", label: "If", required: true }],
    text: ({ condition }) => `if ${condition} {\n}`,
  },
  {
    statement: "var",
    doc: "a tag that may be written again",
    fields: [
      { name: "name", label: "Name", required: true },
      { name: "type", label: "Type", value: "f64", required: true },
      { name: "distribution", label: "Distribution" },
      { name: "value", label: "First value" },
    ],
    text: ({ name, type, distribution, value }) =>
      `var ${type}${written("@", distribution.replace(/^@ */, ""))} ${name}${written("=", value)}`,
  },
  {
    statement: "let",
    doc: "a name for a value",
    fields: [
      { name: "name", label: "Name", required: true },
      { name: "value", label: "Value", required: true },
    ],
    text: ({ name, value }) => `let ${name} = ${value}`,
  },
];

export const titleOf = (item: PaletteItem) => ("statement" in item ? item.statement : item.name);

export function insertItem(item: PaletteItem, { frame, after, at }: Insertion) {
  if ("module" in item) return void edit([{ op: "insert", module: item.module, frame, after, thread: null }], at);
  ask(`New ${item.statement}`, item.fields, (values) =>
    edit([{ op: "statement", frame, after, text: item.text(values) }], at),
  );
}

export function ask(title: string, fields: AskedField[], done: (values: Record<string, string>) => void) {
  update({ dialog: { kind: "ask", title, fields, done } });
}

export const askParameter = () =>
  ask(
    "New parameter",
    [
      { name: "name", label: "Name", required: true },
      { name: "type", label: "Type", value: "i64", required: true },
      { name: "default", label: "Default" },
      { name: "where", label: "Where" },
    ],
    ({ name, type, default: value, where }) =>
      edit([{ op: "add-parameter", type, name, default: value || null, where: where || null }]),
  );

export const askPartition = () =>
  ask(
    "New partition",
    [
      { name: "name", label: "Name", value: "P", required: true },
      { name: "count", label: "Partitions", value: "procs", required: true },
      { name: "grid", label: "Grid" },
    ],
    ({ name, count, grid }) => edit([{ op: "add-partition", name, count, grid: grid || null }]),
  );
