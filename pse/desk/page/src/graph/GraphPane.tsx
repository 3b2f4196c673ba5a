// The graph: boxes and lines as React Flow draws them, and what people do with them.

import {
  Background,
  type Connection,
  Controls,
  MarkerType,
  MiniMap,
  type NodeChange,
  type NodeHandle,
  Panel,
  Position,
  ReactFlow,
  ReactFlowProvider,
  applyNodeChanges,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type DragEvent, useEffect, useMemo, useState } from "react";
import { arrange, askTargets, beginProgram, edit, report, select } from "../program";
import { type Desk, desk, update, useDesk } from "../store";
import { type BoxNode, CallNode } from "./CallNode";
import { darker, threadColour } from "./colours";
import { insertItem } from "../inserting";
import { insertion, movedInto, remember } from "./dropping";
import { FrameNode } from "./FrameNode";
import { MANY, type Point } from "./boxes";
import type { DrawnBox } from "./scene";
import { Legend } from "./Legend";
import { fillOf } from "./measures";
import { type LineEdge, TagEdge } from "./TagEdge";
import { fitAgain, moved, reveal, showBeginning, useViewport } from "./viewport";
import { WhyNot } from "./WhyNot";

const NODE_TYPES = { call: CallNode, frame: FrameNode };
const HANDLE = 9; // as wide and high as the style says
const EDGE_TYPES = { tag: TagEdge };
const LINES = 100; // above all frames: these are as high as they are deep
const CALLS = 200; // above all lines, so that none keeps a click from a call

export function GraphPane() {
  return (
    <ReactFlowProvider>
      <Flow />
    </ReactFlowProvider>
  );
}

function Flow() {
  const scene = useDesk((desk) => desk.scene);
  const layout = useDesk((desk) => desk.layout);
  const selection = useDesk((desk) => desk.selection);
  const connected = useDesk((desk) => desk.connected);
  const program = useDesk((desk) => desk.file?.uri);
  const theme = useDesk((desk) => desk.theme);
  useDesk((desk) => desk.colouring); // the overview has the colours of the boxes
  const drawer = useDesk((desk) => desk.drawer !== null);
  const drawn = scene.boxes.length > 0;
  const flow = useReactFlow<BoxNode, LineEdge>();
  const [nodes, setNodes] = useState<BoxNode[]>([]);
  useEffect(() => setNodes(nodesOf(desk())), [scene, layout, selection]);
  useEffect(() => void showBeginning(), [program, drawn]);
  useEffect(fitAgain, [drawer]);
  useEffect(() => {
    const [selected] = selection;
    if (selected && !document.activeElement?.closest(".canvas")) reveal(selected);
  }, [selection]);
  const edges = useMemo(() => edgesOf(desk()), [scene]);
  return (
    <div className="canvas">
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        zIndexMode="manual"
        colorMode={theme === "auto" ? "system" : theme}
        nodesConnectable={connected}
        connectionRadius={26}
        connectOnClick={false}
        deleteKeyCode={null}
        multiSelectionKeyCode={["Shift", "Meta", "Control"]}
        minZoom={0.05}
        maxZoom={2.5}
        onlyRenderVisibleElements={nodes.length > MANY}
        onInit={useViewport}
        onMoveEnd={moved}
        onNodesChange={(changes) => setNodes((known) => changed(changes, known))}
        onNodeDragStop={(_event, node) => void dropped(node)}
        onPaneClick={() => update({ selection: new Set() })}
        onConnectStart={(_event, { nodeId, handleId, handleType }) => void connecting(nodeId, handleId, handleType)}
        onConnectEnd={() => update({ targets: null })}
        isValidConnection={({ target, targetHandle }) => fits(target, targetHandle)}
        onConnect={connect}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => void placeModule(event, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }))}
      >
        <Background gap={18} />
        <Controls showInteractive={false} />
        {drawn && <MiniMap style={{ width: 130, height: 90 }} pannable zoomable nodeColor={(node: BoxNode) => miniColour(node)} ariaLabel="Overview of the graph" />}
        <Panel position="top-left">
          <Legend />
        </Panel>
        <WhyNot />
      </ReactFlow>
    </div>
  );
}

// From the page's state to what React Flow draws.

function nodesOf({ scene, layout, selection }: Desk): BoxNode[] {
  const placed = scene.boxes.filter((box) => layout.places.has(box.id));
  return placed.map((box) => {
    const { x, y, width, height } = layout.places.get(box.id)!;
    return {
      id: box.id,
      type: box.shown ? "frame" : "call",
      ...(box.parent === null ? {} : { parentId: box.parent }),
      position: { x, y },
      width,
      height,
      measured: { width, height },
      handles: handlesOf(box, height),
      selected: selection.has(box.id),
      zIndex: box.frame ? 0 : CALLS,
      dragHandle: box.frame ? ".head" : undefined,
      ariaLabel: box.node?.text ?? box.shown!.label,
      data: { box },
    };
  });
}

/** Where ports are, so that lines are drawn before the browser has measured the boxes. */
function handlesOf({ ports, shown, folded }: DrawnBox, height: number): NodeHandle[] {
  const inside = shown?.kind === "segment" && !folded;
  return ports.map(({ id, output, at }) => ({
    id,
    type: output ? "source" : "target",
    position: output === inside ? Position.Top : Position.Bottom,
    x: at - HANDLE / 2,
    y: (output === inside ? 0 : height) - HANDLE / 2,
    width: HANDLE,
    height: HANDLE,
  }));
}

function edgesOf({ scene, graph, session }: Desk): LineEdge[] {
  const threads = new Map(graph?.nodes.map((node) => [node.id, node.thread]));
  return scene.lines.map((line) => {
    const { edge } = line;
    const colour = darker(threadColour(session?.colours ?? [], graph?.threads ?? [], threads.get(edge.from.id) ?? null), 0.85);
    return {
      id: line.id,
      type: "tag",
      zIndex: LINES,
      source: line.from,
      sourceHandle: line.fromPort,
      target: line.to,
      targetHandle: line.toPort,
      style: { stroke: colour, strokeWidth: edge.crosses ? 2.4 : 1.4, ...(edge.loop ? { strokeDasharray: "6 4" } : {}) },
      markerEnd: { type: MarkerType.ArrowClosed, color: colour, width: 14, height: 14, markerUnits: "userSpaceOnUse" },
      data: { line, thread: threads.get(edge.to.id) ?? null },
    };
  });
}

const miniColour = (node: BoxNode) => (node.data.box.node ? fillOf(desk(), node.data.box.node) : "transparent");

// What people do.

function changed(changes: NodeChange<BoxNode>[], nodes: BoxNode[]): BoxNode[] {
  const chosen = changes.filter((change) => change.type === "select");
  if (chosen.length) {
    const selection = new Set(desk().selection);
    for (const { id, selected } of chosen) selected ? selection.add(id) : selection.delete(id);
    queueMicrotask(() => select(selection));
  }
  for (const change of changes) {
    if (change.type === "position" && change.position && !change.dragging) void remember(change.id, change.position);
  }
  return applyNodeChanges(changes.filter((change) => change.type !== "remove"), nodes);
}

/** A box that was dragged into another frame: its statement is moved there. */
async function dropped(node: BoxNode) {
  const moved = movedInto(desk(), node);
  if (moved === null) return;
  const done = await edit([{ op: "move", items: [node.id], frame: moved.frame, after: moved.after }], moved.at);
  if (!done) await arrange(desk().layout.places);
}

async function connecting(id: string | null, port: string | null, kind: string | null) {
  if (id && port && kind === "source") update({ targets: await askTargets(id, port).catch(report) });
}

function fits(id: string | null, port: string | null | undefined): boolean {
  const target = desk().targets?.find((one) => one.id === id && one.port === port);
  return target?.ok ?? false;
}

function connect({ source, sourceHandle, target, targetHandle }: Connection) {
  void edit([{ op: "connect", from: { id: source, port: sourceHandle }, to: { id: target, port: targetHandle } }]);
}

async function placeModule(event: DragEvent, at: Point) {
  const item = desk().dragged;
  update({ dragged: null });
  if (!item) return;
  event.preventDefault();
  if (await beginProgram()) insertItem(item, insertion(desk(), at));
}
