// The graph: boxes and lines as React Flow draws them, and what people do with them.

import {
  Background,
  type Connection,
  Controls,
  MiniMap,
  type NodeChange,
  type OnConnectStartParams,
  Panel,
  ReactFlow,
  ReactFlowProvider,
  applyNodeChanges,
  useReactFlow,
} from "@xyflow/react";
import "@xyflow/react/dist/style.css";
import { type DragEvent, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { arrange, askTargets, beginProgram, edit, select } from "../program";
import { desk, report, update, useDesk } from "../store";
import { type BoxNode, CallNode } from "./CallNode";
import { insertItem } from "../inserting";
import { insertion, movedInto, remember } from "./dropping";
import { FrameNode } from "./FrameNode";
import { MANY, type Point } from "./boxes";
import { edgesOf, nodesOf } from "./elements";
import { Legend } from "./Legend";
import { fillOf } from "./measures";
import { type LineEdge, TagEdge } from "./TagEdge";
import { SMALLEST, fitToPane, moved, reveal, showBeginning, useViewport } from "./viewport";
import { WhyNot } from "./WhyNot";

const NODE_TYPES = { call: CallNode, frame: FrameNode };
const EDGE_TYPES = { tag: TagEdge };
const SEVERAL = ["Shift", "Meta", "Control"]; // keys that are held to select one more
const OVERVIEW = { width: 130, height: 90 };

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
  const threads = useDesk((desk) => desk.graph?.threads.join(" "));
  const colouring = useDesk((desk) => desk.colouring);
  const sites = useDesk((desk) => desk.sites);
  const problems = useDesk((desk) => desk.graph?.diagnostics);
  const pane = useRef<HTMLDivElement>(null);
  const drawn = layout.places.size > 0;
  const overview = useDeferredValue(drawn); // it draws each box once more: after the graph
  const flow = useReactFlow<BoxNode, LineEdge>();
  const [nodes, setNodes] = useState<BoxNode[]>([]);
  useEffect(() => setNodes((known) => nodesOf(desk(), known)), [scene, layout, selection, problems]);
  useEffect(() => void showBeginning(), [program, drawn]);
  useEffect(() => fitToPane(pane.current!), []);
  useEffect(() => {
    const [selected] = selection;
    if (selected && !document.activeElement?.closest(".canvas")) reveal(selected);
  }, [selection]);
  const edges = useRef<LineEdge[]>([]);
  edges.current = useMemo(() => edgesOf(desk(), edges.current), [scene, threads]);
  // What React Flow is given anew, all that is drawn looks at: each of these is made once.
  const nodesChanged = useCallback((changes: NodeChange<BoxNode>[]) => setNodes((known) => changed(changes, known)), []);
  const overviewColour = useCallback((node: BoxNode) => miniColour(node), [threads, colouring, sites]);
  return (
    <div className="canvas" ref={pane}>
      <ReactFlow
        aria-label="The program as a graph"
        nodes={nodes}
        edges={edges.current}
        nodeTypes={NODE_TYPES}
        edgeTypes={EDGE_TYPES}
        zIndexMode="manual"
        colorMode={theme === "auto" ? "system" : theme}
        nodesConnectable={connected}
        connectionRadius={26}
        connectOnClick={false}
        deleteKeyCode={null}
        multiSelectionKeyCode={SEVERAL}
        minZoom={SMALLEST}
        maxZoom={2.5}
        onlyRenderVisibleElements={scene.boxes.length > MANY}
        onInit={useViewport}
        onMoveEnd={moved}
        onNodesChange={nodesChanged}
        onNodeDragStop={dropped}
        onPaneClick={deselect}
        onConnectStart={connecting}
        onConnectEnd={connectionEnded}
        isValidConnection={fits}
        onConnect={connect}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => void placeModule(event, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }))}
      >
        <Background gap={18} />
        <Controls showInteractive={false} />
        {overview && <MiniMap style={OVERVIEW} pannable zoomable nodeColor={overviewColour} ariaLabel="Overview of the graph" />}
        <Panel position="top-left">
          <Legend />
        </Panel>
        <WhyNot />
      </ReactFlow>
    </div>
  );
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
async function dropped(_event: unknown, node: BoxNode) {
  const moved = movedInto(desk(), node);
  if (moved === null) return;
  const done = await edit([{ op: "move", items: [node.id], frame: moved.frame, after: moved.after }], moved.at);
  if (!done) await arrange(desk().layout.places);
}

const deselect = () => update({ selection: new Set() });

async function connecting(_event: unknown, { nodeId, handleId, handleType }: OnConnectStartParams) {
  if (nodeId && handleId && handleType === "source") update({ targets: await askTargets(nodeId, handleId).catch(report) });
}

const connectionEnded = () => update({ targets: null });

function fits({ target, targetHandle }: Connection | LineEdge): boolean {
  return desk().targets?.find((one) => one.id === target && one.port === targetHandle)?.ok ?? false;
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
