// The source of a module below the program's text.

import { useEffect, useRef } from "react";
import { buildSource, closeSource, openSource, saveSource, sourceView } from "../sources";
import { useDesk } from "../store";

export function Source() {
  const source = useDesk((desk) => desk.source);
  const build = useDesk((desk) => desk.build);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => void place.current?.append(sourceView.dom), [source?.path]);
  if (!source) return null;
  return (
    <section className="source" aria-label="Module source">
      <div className="tabs">
        <b>{source.path}</b>
        <span className="note">{source.changed ? "not saved" : "saved"}</span>
        <span className="gap" />
        <button disabled={!source.changed} onClick={() => void saveSource()}>
          Save
        </button>
        <button onClick={() => void buildSource()}>Build</button>
        <button className="plain" aria-label="Close the source" onClick={() => void closeSource()}>
          ✕
        </button>
      </div>
      <div className="place" ref={place} />
      {build && (
        <div className="built" role="status">
          {build.ok ? `Built: ${build.modules.join(", ")}${build.cached ? " (it was built before)" : ""}` : "It does not compile:"}
          {build.messages.map((one, index) => (
            <button key={index} className={`plain ${one.severity}`} onClick={() => void openSource(one.path, one.line)}>
              {one.path}:{one.line}:{one.column} {one.message}
            </button>
          ))}
          {!build.ok && build.messages.length === 0 && <pre>{build.output}</pre>}
        </div>
      )}
    </section>
  );
}
