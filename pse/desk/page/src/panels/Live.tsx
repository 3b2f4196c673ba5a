// A run that goes on: buttons that hold it and let it go, its live parameters, and pictures of watched tags.

import { useEffect, useRef } from "react";
import { control, frameKey, watch } from "../live";
import type { ControlStatus, Frame } from "../protocol";
import { useDesk } from "../store";
import { TextField } from "./fields";

const NONE: string[] = [];

export function Live({ run }: { run: string }) {
  const status = useDesk((desk) => desk.controls[run]);
  const watched = useDesk((desk) => desk.watched[run] ?? NONE);
  if (!status) return null;
  return (
    <div className="live" aria-label="Control of the run">
      <Buttons run={run} status={status} />
      <Parameters run={run} live={status.live} />
      <Tags run={run} tags={status.tags} watched={watched} />
      <div className="frames">
        {watched.map((tag) => (
          <Picture key={tag} run={run} tag={tag} />
        ))}
      </div>
    </div>
  );
}

function Buttons({ run, status }: { run: string; status: ControlStatus }) {
  const held = status.state === "held";
  return (
    <p className="buttons">
      <button onClick={() => void control(run, { action: held ? "resume" : "pause" })}>{held ? "Go on" : "Hold"}</button>{" "}
      <button disabled={!held} onClick={() => void control(run, { action: "step", rounds: 1 })}>
        Step
      </button>{" "}
      {status.checkpoint && <button onClick={() => void control(run, { action: "checkpoint" })}>Checkpoint</button>}
      {held && <span> held at {status.place}</span>}
    </p>
  );
}

function Parameters({ run, live }: { run: string; live: ControlStatus["live"] }) {
  const names = Object.keys(live);
  if (names.length === 0) return null;
  return (
    <p className="run-form">
      {names.map((name) => (
        <TextField
          key={name}
          label={name}
          name={`live ${name}`}
          value={String(live[name])}
          done={(value) => control(run, { action: "set", values: { [name]: value } })}
        />
      ))}
    </p>
  );
}

function Tags({ run, tags, watched }: { run: string; tags: Record<string, string>; watched: string[] }) {
  const toggle = (tag: string) =>
    void watch(run, watched.includes(tag) ? watched.filter((one) => one !== tag) : [...watched, tag]);
  return (
    <p className="tags">
      Watch
      {Object.entries(tags).map(([tag, type]) => (
        <label key={tag} title={type}>
          <input type="checkbox" name={`watch ${tag}`} checked={watched.includes(tag)} onChange={() => toggle(tag)} /> {tag}
        </label>
      ))}
    </p>
  );
}

interface FrameElement extends HTMLElement {
  frame: Frame;
}

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "pse-frame": DetailedHTMLProps<HTMLAttributes<HTMLElement>, HTMLElement>;
    }
  }
}

/** Drawn by the element that notebooks show as well: views/web/frames. */
function Picture({ run, tag }: { run: string; tag: string }) {
  const element = useRef<FrameElement>(null);
  const frame = useDesk((desk) => desk.frames[frameKey(run, tag)]);
  useEffect(defineElement, []);
  useEffect(() => {
    void customElements.whenDefined("pse-frame").then(() => {
      if (element.current && frame) element.current.frame = frame;
    });
  }, [frame]);
  return (
    <div>
      {!frame && `${tag} …`}
      <pse-frame ref={element} />
    </div>
  );
}

function defineElement() {
  const src = "frames/frames.js";
  if (document.querySelector(`script[src='${src}']`)) return;
  document.head.append(Object.assign(document.createElement("script"), { type: "module", src }));
}
