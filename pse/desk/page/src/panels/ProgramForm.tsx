// The form of the program: parameters, partitions, options.

import { askParameter, askPartition } from "../inserting";
import { edit, tooLong } from "../program";
import type { ProgramGraph } from "../protocol";
import { useDesk } from "../store";
import { Row, TextField } from "./fields";

export function ProgramForm({ graph }: { graph: ProgramGraph }) {
  const unread = tooLong(graph);
  if (unread) return <p>It can’t be drawn: {unread.message}.</p>;
  if (graph.name === null) return <p>The file has no program yet: drag a module in, or choose “Begin a program”.</p>;
  return (
    <>
      {graph.parameters.map(({ name, type, default: value, where }) => (
        <Row key={name}>
          <TextField label={`${type} ${name}`} name={`parameter ${name}`} value={value ?? ""} done={(text) => parameter(name, "default", text)} />
          <TextField label="where" name={`where ${name}`} value={where ?? ""} done={(text) => parameter(name, "where", text)} />
        </Row>
      ))}
      <button onClick={askParameter}>Add a parameter…</button>
      {graph.partitions.map(({ name, count, grid }) => (
        <Row key={name}>
          <TextField label={`partition ${name}`} value={count} done={(text) => partition(name, "count", text)} />
          <TextField label="grid" name={`grid ${name}`} value={grid ?? ""} done={(text) => partition(name, "grid", text)} />
        </Row>
      ))}
      <button onClick={askPartition}>Add a partition…</button>
      <Options graph={graph} />
    </>
  );
}

function Options({ graph }: { graph: ProgramGraph }) {
  const known = useDesk((desk) => desk.session?.options ?? NONE);
  return (
    <>
      {graph.options.map(({ name, thread, value }) => (
        <TextField
          key={`${name} ${thread}`}
          label={`option ${name}${thread ? ` ${thread}` : ""}`}
          value={value}
          done={(text) => edit([{ op: "option", name, thread, value: text || null }])}
        />
      ))}
      <TextField label="Set an option" value="" placeholder="name = value" choices={known.map((name) => `${name} = `)} done={setOption} />
    </>
  );
}

const NONE: string[] = [];

const parameter = (name: string, field: string, text: string) =>
  edit([{ op: "parameter", name, field, value: text || null }]);

const partition = (name: string, field: string, text: string) =>
  edit([{ op: "partition", name, field, value: text || null }]);

function setOption(text: string) {
  const [words, value] = text.split("=").map((part) => part.trim());
  const [name, thread = null] = words.split(/\s+/);
  if (name && value) return edit([{ op: "option", name, thread, value }]);
}
