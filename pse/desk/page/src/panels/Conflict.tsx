// The file on the disk and the text of the page differ: choose one, or merge them.

import { MergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, type ViewUpdate, lineNumbers } from "@codemirror/view";
import { useEffect, useRef } from "react";
import { type Conflicting, update } from "../store";
import { replaceText } from "../text/editor";

const close = () => update({ dialog: null });

export function Conflict({ of, theirs, revision }: { of: Conflicting; theirs: string | null; revision: string | null }) {
  const shown = useRef<HTMLDivElement>(null);
  const merge = useRef<MergeView | null>(null);
  const shows = theirs !== null;
  const now = revision === null ? "was deleted from the disk" : shows ? "was changed elsewhere" : "is something on the disk now that is not a text";
  useEffect(() => {
    if (!shows) return;
    const made = new MergeView({
      parent: shown.current!,
      a: { doc: theirs, extensions: [lineNumbers(), EditorState.readOnly.of(true), EditorView.editable.of(false)] },
      b: { doc: of.view.state.doc, extensions: [lineNumbers(), EditorView.updateListener.of((made) => mirror(of, made))] },
      revertControls: "a-to-b",
    });
    merge.current = made;
    return () => made.destroy();
  }, [of, shows]);
  // The disk may change again meanwhile.
  useEffect(() => void (theirs !== null && replaceText(merge.current!.a, theirs)), [theirs]);
  const keep = () => {
    close();
    void of.save(revision);
  };
  const take = () => {
    close();
    of.take(theirs!, revision, "This is the text from the disk; undo brings yours back.");
  };
  return (
    <div className="content">
      <h2>
        {of.file?.path} {now}.
      </h2>
      {shows && <p>Left: the disk. Right: this page; edit it, or take parts over with the arrows.</p>}
      {!shows && <p>{revision === null ? "Saving writes it again." : "Saving puts this page’s text in its place."}</p>}
      <div ref={shown} className="merge" />
      <div className="row">
        <button onClick={close}>Decide later</button>
        {shows && <button onClick={take}>Take the disk’s text</button>}
        <button className="main" onClick={keep}>
          Save this page’s text
        </button>
      </div>
    </div>
  );
}

/** What is merged is the page's text at once: nothing of it is lost, however the dialog ends. */
function mirror({ view }: Conflicting, { docChanged, startState, changes, state }: ViewUpdate) {
  if (!docChanged) return;
  if (view.state.doc.eq(startState.doc)) view.dispatch({ changes });
  else replaceText(view, state.doc.toString());
}
