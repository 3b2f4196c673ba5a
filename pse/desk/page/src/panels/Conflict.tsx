// The file on the disk and the text of the page differ: choose one, or merge them.

import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { save, takeText, view } from "../program";
import { update } from "../store";

const close = () => update({ dialog: null });

export function Conflict({ theirs, revision }: { theirs: string | null; revision: string | null }) {
  const shown = useRef<HTMLDivElement>(null);
  const merge = useRef<MergeView | null>(null);
  useEffect(() => {
    if (theirs === null) return;
    const made = new MergeView({
      parent: shown.current!,
      a: { doc: theirs, extensions: [lineNumbers(), EditorState.readOnly.of(true), EditorView.editable.of(false)] },
      b: { doc: view.state.doc.toString(), extensions: [lineNumbers()] },
      revertControls: "a-to-b",
    });
    merge.current = made;
    return () => made.destroy();
  }, [theirs]);
  const keep = () => {
    close();
    void saveMerged(merge.current?.b.state.doc.toString(), revision);
  };
  const take = () => {
    close();
    takeText(theirs!, revision, "This is the text from the disk; undo brings yours back.");
  };
  return (
    <div className="content">
      <h2>{theirs === null ? "The file was deleted from the disk." : "The file was changed elsewhere."}</h2>
      {theirs !== null && <p>Left: the disk. Right: this page; edit it, or take parts over with the arrows.</p>}
      <div ref={shown} className="merge" />
      <div className="row">
        <button onClick={close}>Decide later</button>
        {theirs !== null && <button onClick={take}>Take the disk’s text</button>}
        <button className="main" onClick={keep}>
          Save this page’s text
        </button>
      </div>
    </div>
  );
}

async function saveMerged(text: string | undefined, revision: string | null) {
  if (text !== undefined && text !== view.state.doc.toString()) {
    takeText(text, revision, "The merged text is saved.");
  }
  await save(revision);
}
