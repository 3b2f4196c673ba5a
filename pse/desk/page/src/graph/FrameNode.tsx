// A loop, a branch, PARALLEL or a segment: a frame around what is in it, which folds.

import type { NodeProps } from "@xyflow/react";
import { memo } from "react";
import { fold } from "../program";
import { useDesk } from "../store";
import { type BoxNode, PortHandle } from "./CallNode";
import { isWrong, progressOf } from "./measures";

export const FrameNode = memo(function FrameNode({ id, data }: NodeProps<BoxNode>) {
  const { box } = data;
  const frame = box.shown!;
  const progress = useDesk((desk) => progressOf(desk, id));
  const wrong = useDesk((desk) => isWrong(desk, id));
  const classes = ["frame", frame.kind, box.folded ? "folded" : "", wrong ? "wrong" : ""];
  return (
    <div className={classes.filter(Boolean).join(" ")} data-frame={frame.kind}>
      <div className="head">
        <button
          className="plain nodrag"
          aria-expanded={!box.folded}
          aria-label={box.folded ? `Unfold ${frame.label}` : `Fold ${frame.label}`}
          onClick={() => fold([id])}
        >
          {box.folded ? "▸" : "▾"}
        </button>
        <span>{frame.label}</span>
      </div>
      {progress && <span className="badge active">{progress}</span>}
      {box.ports.map((port) => (
        <PortHandle key={`${port.id}${port.output}`} box={id} port={port} inside={frame.kind === "segment" && !box.folded} />
      ))}
    </div>
  );
});
