// A run that goes on: buttons that hold it and let it go, its live parameters, and pictures of watched tags.

import { useEffect, useRef } from "react";
import { control, frameKey, valuesOf, watch } from "../live";
import type { ControlStatus, Frame } from "../protocol";
import { useDesk, type Watched } from "../store";
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
          done={(value) => void control(run, { action: "set", values: { [name]: value } })}
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

function Picture({ run, tag }: { run: string; tag: string }) {
  const watched = useDesk((desk) => desk.frames[frameKey(run, tag)]);
  if (!watched) return <figure data-tag={tag}>{tag} …</figure>;
  const { frame } = watched;
  return (
    <figure data-tag={tag} data-pause={frame.pause}>
      {frame.error ? <span className="error">{frame.error}</span> : <Drawing watched={watched} />}
      {!frame.error && <figcaption>{caption(frame)}</figcaption>}
    </figure>
  );
}

const number = (value: number | null) => (value === null ? "–" : String(Number(value.toPrecision(4))));

function caption({ tag, shape, cells, low, high, place }: Frame) {
  const size = shape.length ? `[${shape.join(", ")}]` : "";
  const range = cells.length ? `${number(low)} to ${number(high)}` : number(low);
  return `${tag}${size}: ${range} · ${place}`;
}

function Drawing({ watched: { frame, history } }: { watched: Watched }) {
  if (frame.cells.length === 2) return <Image frame={frame} />;
  return <Curve values={frame.cells.length ? [...valuesOf(frame)] : history} />;
}

const WIDTH = 320;
const HEIGHT = 120;

function Curve({ values }: { values: number[] }) {
  const known = values.filter(Number.isFinite);
  const low = Math.min(...known);
  const scale = (HEIGHT - 4) / (Math.max(...known) - low || 1);
  const across = WIDTH / Math.max(values.length - 1, 1);
  const points = values.flatMap((value, index) =>
    Number.isFinite(value) ? [`${(index * across).toFixed(1)},${(HEIGHT - 2 - (value - low) * scale).toFixed(1)}`] : [],
  );
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width={WIDTH} height={HEIGHT} role="img">
      <polyline points={points.join(" ")} fill="none" stroke="currentColor" strokeWidth={1.5} />
    </svg>
  );
}

// From dark to light, to be told apart by everybody (after cividis).
const STOPS = [
  [0, 34, 78],
  [66, 78, 108],
  [124, 123, 120],
  [187, 175, 113],
  [254, 232, 56],
];
const BAR = `linear-gradient(to right, ${STOPS.map((stop) => `rgb(${stop.join(" ")})`).join(", ")})`;

function colourOf(share: number): number[] {
  const place = Math.min(Math.max(share, 0), 1) * (STOPS.length - 1);
  const first = Math.min(Math.floor(place), STOPS.length - 2);
  return STOPS[first].map((from, part) => from + (STOPS[first + 1][part] - from) * (place - first));
}

function Image({ frame }: { frame: Frame }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [rows, columns] = frame.cells;
  useEffect(() => {
    const pen = canvas.current?.getContext("2d");
    if (!pen || rows * columns === 0) return;
    const pixels = pen.createImageData(columns, rows);
    const low = frame.low ?? 0;
    const width = (frame.high ?? 0) - low || 1;
    valuesOf(frame).forEach((value, index) => {
      if (Number.isFinite(value)) pixels.data.set([...colourOf((value - low) / width), 255], 4 * index);
    });
    pen.putImageData(pixels, 0, 0);
  }, [frame, rows, columns]);
  return (
    <>
      <canvas ref={canvas} width={columns} height={rows} style={{ width: WIDTH, aspectRatio: `${columns} / ${rows}` }} />
      <div className="bar-of-colours" style={{ background: BAR, width: WIDTH }}>
        <span>{number(frame.low)}</span>
        <span>{number(frame.high)}</span>
      </div>
    </>
  );
}
