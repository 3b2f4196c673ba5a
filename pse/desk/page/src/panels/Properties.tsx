// The form of what is selected: a call, another statement, a frame; without a selection, of the program.

import { edit, fold } from "../program";
import type { Operation, ProgramFrame, ProgramGraph, ProgramNode, ProgramPort } from "../protocol";
import { openSource } from "../sources";
import { report, useDesk } from "../store";
import { ChoiceField, Row, TextField } from "./fields";
import { ProgramForm } from "./ProgramForm";

const NONE: string[] = [];
const NAMED_KINDS = ["program", "segment"];

export function Properties() {
  const graph = useDesk((desk) => desk.graph);
  const selection = useDesk((desk) => desk.selection);
  if (!graph) return <section className="form" aria-label="Properties" />;
  const node = graph.nodes.find((one) => selection.has(one.id));
  const frame = graph.frames.find((one) => selection.has(one.id));
  return (
    <section className="form" aria-label="Properties">
      <header>
        <h2>{heading(selection.size, node, frame)}</h2>
      </header>
      <div className="fields">{content(graph, selection.size, node, frame)}</div>
    </section>
  );
}

function heading(count: number, node?: ProgramNode, frame?: ProgramFrame): string {
  if (count > 1) return `${count} selected`;
  return node ? `${node.kind} ${node.label}` : (frame?.label ?? "Program");
}

function content(graph: ProgramGraph, count: number, node?: ProgramNode, frame?: ProgramFrame) {
  if (count > 1) return <p>Group, copy, move to a thread or delete them: all commands are behind Ctrl+K.</p>;
  if (node) return <NodeForm key={node.id} graph={graph} node={node} />;
  if (frame) return <FrameForm key={frame.id} frame={frame} graph={graph} />;
  return <ProgramForm graph={graph} />;
}

const change = (operation: Operation) => edit([operation]);

function NodeForm({ graph, node }: { graph: ProgramGraph; node: ProgramNode }) {
  const problems = graph.diagnostics.filter((one) => one.node === node.id);
  return (
    <>
      {problems.map((problem, index) => (
        <p key={index} className={problem.severity}>
          {problem.message}
          {problem.help && <small> {problem.help}</small>}
        </p>
      ))}
      {node.doc && <p>{node.doc}</p>}
      {node.source && <SourceButton path={node.source.path} line={node.source.line} />}
      {node.call && <ThreadField graph={graph} node={node} />}
      {node.fields ? <ValueForm node={node} /> : <CallPorts graph={graph} node={node} />}
    </>
  );
}

const SourceButton = ({ path, line }: { path: string; line: number }) => (
  <button onClick={() => void openSource(path, line).catch(report)}>
    Open {path}:{line}
  </button>
);

function ThreadField({ graph, node }: { graph: ProgramGraph; node: ProgramNode }) {
  const chosen = node.labelled ? (node.thread ?? "") : "";
  const own = node.labelled || !node.thread ? "" : ` (${node.thread})`;
  const choices = threadChoices(graph, chosen).map((thread) => [thread, thread] as [string, string]);
  return (
    <ChoiceField
      label="Thread"
      name="thread"
      value={chosen}
      choices={[["", `the engine chooses${own}`], ...choices]}
      done={(thread) => change({ op: "thread", node: node.id, thread: thread || null })}
    />
  );
}

/** The threads of a program, and one that is new. */
export function threadChoices(graph: ProgramGraph, chosen = ""): string[] {
  const known = [...new Set([...graph.threads, ...(chosen ? [chosen] : []), "thread_A", "thread_B", "thread_C"])].toSorted();
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"].map((letter) => `thread_${letter}`);
  return [...known, ...letters.filter((one) => !known.includes(one)).slice(0, 1)];
}

function CallPorts({ graph, node }: { graph: ProgramGraph; node: ProgramNode }) {
  const tags = [...new Set(graph.edges.map((edge) => edge.tag))].toSorted();
  const inputs = node.inputs.filter((port) => port.direction !== "comm");
  return (
    <>
      {inputs.map((port) => (
        <InputField key={port.name} node={node} port={port} tags={tags} />
      ))}
      {node.outputs.map((port) => (
        <OutputFields key={port.name} node={node} port={port} />
      ))}
    </>
  );
}

function InputField({ node, port, tags }: { node: ProgramNode; port: ProgramPort; tags: string[] }) {
  return (
    <TextField
      label={`${port.direction} ${port.name}${port.type ? `: ${port.type}` : ""}`}
      name={`input ${port.name}`}
      value={port.text ?? ""}
      placeholder={port.default ?? (port.required ? "needs a tag or a value" : "")}
      choices={tags}
      done={(value) => change({ op: "argument", node: node.id, port: port.name, value: value || null })}
    />
  );
}

function OutputFields({ node, port }: { node: ProgramNode; port: ProgramPort }) {
  const own = { node: node.id, port: port.name };
  const reduce = (target: string, operation: string) =>
    change({ op: "reduce", ...own, target: target || null, operation: operation || null });
  const { target = "", operation = "" } = port.reduce ?? {};
  return (
    <>
      <Row>
        <TextField
          label={`out ${port.name}`}
          name={`output ${port.name}`}
          value={port.text ?? ""}
          done={(name) => name && change({ op: "output", ...own, name })}
        />
        <TextField
          label="Distribution"
          name={`distribution ${port.name}`}
          value={(port.written ?? "").replace(/^@ */, "")}
          placeholder={(port.tagDistribution ?? "").replace(/^@ */, "")}
          done={(text) => change({ op: "distribution", ...own, distribution: text.replace(/^@ */, "") || null })}
        />
      </Row>
      <Reduction port={port} target={target} operation={operation} done={reduce} />
    </>
  );
}

interface ReductionProps {
  port: ProgramPort;
  target: string;
  operation: string;
  done: (target: string, operation: string) => unknown;
}

/** What is combined needs a name of its own. */
function Reduction({ port, target, operation, done }: ReductionProps) {
  const known = useDesk((desk) => desk.session?.reductions ?? NONE);
  const operations = [...new Set([...known, ...(operation ? [operation] : [])])];
  return (
    <Row>
      <ChoiceField
        label="Reduce by"
        name={`reduce ${port.name}`}
        value={operation}
        choices={[["", "not reduced"], ...operations.map((one) => [one, one] as [string, string])]}
        done={(chosen) => done(target || `${port.text || port.name}_${chosen}`, chosen)}
      />
      {operation && (
        <TextField label="Into" name={`target ${port.name}`} value={target} done={(name) => done(name, operation)} />
      )}
    </Row>
  );
}

function ValueForm({ node }: { node: ProgramNode }) {
  const set = (field: string, text: string): Operation => {
    if (field === "name") return { op: "rename", name: node.label, at: node.fields!.name.span!.start, to: text };
    if (field !== "distribution") return { op: "value", node: node.id, field, text: text || null };
    return { op: "distribution", node: node.id, distribution: text.replace(/^@ */, "") || null };
  };
  return Object.entries(node.fields ?? {}).map(([field, { text }]) => (
    <TextField key={field} label={field} value={text ?? ""} done={(value) => change(set(field, value))} />
  ));
}

function FrameForm({ graph, frame }: { graph: ProgramGraph; frame: ProgramFrame }) {
  const fields = Object.entries(frame.fields);
  const partitions = graph.partitions.map((partition) => partition.name);
  return (
    <>
      {fields.map(([field, { text, span }]) => (
        <TextField
          key={field}
          label={field}
          value={text ?? ""}
          choices={field === "partition" ? partitions : undefined}
          done={(value) =>
            NAMED_KINDS.includes(frame.kind)
              ? change({ op: "rename", name: text, at: span!.start, to: value })
              : change({ op: "loop", frame: frame.id, field, value: value || null })
          }
        />
      ))}
      <button onClick={() => fold([frame.id])}>Fold or unfold</button>
    </>
  );
}
