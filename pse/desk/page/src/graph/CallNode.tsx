// A call, or another statement, with its ports: inputs above, outputs below.

import { Handle, type Node, type NodeProps, Position } from "@xyflow/react";
import { memo } from "react";
import type { ProgramNode } from "../protocol";
import { useDesk } from "../store";
import { darker, ink } from "./colours";
import { badgeOf, fillOf, isWrong } from "./measures";
import { type DrawnBox, type DrawnPort, titleOf } from "./scene";

export type BoxNode = Node<{ box: DrawnBox }>;

export const CallNode = memo(function CallNode({ id, data }: NodeProps<BoxNode>) {
  const { box } = data;
  const node = box.node!;
  const fill = useDesk((desk) => fillOf(desk, node));
  const [state, badge] = useDesk((desk) => badgeOf(desk, node)).split("|");
  const measured = useDesk((desk) => desk.sites !== null);
  const wrong = useDesk((desk) => isWrong(desk, id));
  const style = { "--fill": fill, "--fill-ink": ink(fill), "--edge": darker(fill) } as React.CSSProperties;
  return (
    <div className={wrong ? "call wrong" : "call"} style={style} title={node.text} data-call={node.label} data-kind={node.kind}>
      {box.ports.map((port) => (
        <PortHandle key={`${port.id}${port.output}`} box={id} port={port} />
      ))}
      <span className="name">{titleOf(node)}</span>
      {node.call && <span className="thread">{threadText(node)}</span>}
      {badge && <span className={`badge ${state}`} title={measured ? "calls × their time" : "calls · share of a core"}>{badge}</span>}
    </div>
  );
});

export const threadText = ({ thread, labelled }: ProgramNode) =>
  thread === null ? "no thread yet" : labelled ? thread : `${thread} (chosen)`;

export function PortHandle({ box, port, inside = false }: { box: string; port: DrawnPort; inside?: boolean }) {
  const target = useDesk((desk) => desk.targets?.find((one) => one.id === box && one.port === port.id));
  const missing = port.port?.required && port.port.text === null;
  const classes = [
    port.port?.direction === "inout" ? "inout" : "",
    missing ? "unbound" : "",
    port.output || !target ? "" : target.ok ? "fits" : "refuses",
  ];
  const top = port.output === inside;
  return (
    <>
      <Handle
        id={port.id}
        type={port.output ? "source" : "target"}
        position={top ? Position.Top : Position.Bottom}
        style={{ left: port.at }}
        className={classes.filter(Boolean).join(" ")}
        title={portText(port)}
      />
      <span className={top ? "port-name in" : "port-name out"} style={{ left: port.at }}>
        {port.name}
      </span>
    </>
  );
}

function portText({ name, port }: DrawnPort): string {
  if (!port) return name;
  const declared = `${port.direction} ${port.type ?? ""} ${port.name}`;
  const given = port.text === null ? (port.default ? `default ${port.default}` : "not connected") : port.text;
  return `${declared}\n${given}${port.tagType ? `: ${port.tagType} ${port.tagDistribution ?? ""}` : ""}`;
}
