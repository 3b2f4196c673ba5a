// The text: the one truth of the page.  Its history is the undo and redo of both sides.

import { closeBrackets, closeBracketsKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab, isolateHistory } from "@codemirror/commands";
import { bracketMatching, indentService, indentUnit } from "@codemirror/language";
import { lintGutter, lintKeymap } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, type ChangeSpec, EditorState, type Extension, Transaction } from "@codemirror/state";
import {
  EditorView,
  drawSelection,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import type { Span, TextEdit } from "../protocol";

/** On changes and selections that the graph made. */
const fromGraph = Annotation.define<boolean>();

export interface Watcher {
  changed(): void;
  selected(offset: number): void;
}

const INDENT = 2;

/** A line is indented as the one before it, and further after an opening brace. */
const indentation = indentService.of((context, position) => {
  const { from, number } = context.state.doc.lineAt(position);
  if (number === 1) return 0;
  const before = context.state.doc.line(number - 1);
  const within = /^\s*/.exec(before.text)![0].length + (/\{\s*$/.test(before.text) ? INDENT : 0);
  return /^\s*\}/.test(context.textAfterPos(from)) ? Math.max(within - INDENT, 0) : within;
});

const LOOK: Extension = [
  lineNumbers(),
  highlightActiveLineGutter(),
  highlightSpecialChars(),
  drawSelection(),
  highlightActiveLine(),
  highlightSelectionMatches(),
  bracketMatching(),
  lintGutter(),
];

const BEHAVIOUR: Extension = [
  history(),
  closeBrackets(),
  indentation,
  indentUnit.of(" ".repeat(INDENT)),
  EditorState.languageData.of(() => [{ commentTokens: { line: "//" }, closeBrackets: { brackets: ["(", "[", "{", '"'] } }]),
  keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...lintKeymap, indentWithTab]),
  EditorView.contentAttributes.of({ "aria-label": "Program text", "aria-description": "Tab indents; Escape and then Tab goes on, F6 goes to the graph." }),
];

export function editorState(text: string, language: Extension, watcher: Watcher): EditorState {
  const watching = EditorView.updateListener.of((made) => {
    if (made.docChanged) watcher.changed();
    const own = made.transactions.some((one) => one.annotation(fromGraph));
    if (made.selectionSet && !own) watcher.selected(made.state.selection.main.head);
  });
  return EditorState.create({ doc: text, extensions: [LOOK, BEHAVIOUR, language, watching] });
}

/** Apply what a change of the graph means for the text; it is undone as one. */
export function applyEdits(view: EditorView, edits: TextEdit[]) {
  applyChanges(view, edits.map(({ start, end, text }) => ({ from: start, to: end, insert: text })));
}

export function applyChanges(view: EditorView, changes: ChangeSpec) {
  view.dispatch({
    changes,
    annotations: [fromGraph.of(true), isolateHistory.of("full"), Transaction.userEvent.of("graph")],
  });
}

export function replaceText(view: EditorView, text: string) {
  applyEdits(view, [{ start: 0, end: view.state.doc.length, text }]);
}

export function selectSpan(view: EditorView, { start, end }: Span) {
  const length = view.state.doc.length;
  view.dispatch({
    selection: { anchor: Math.min(start, length), head: Math.min(end, length) },
    effects: EditorView.scrollIntoView(Math.min(start, length), { y: "center" }),
    annotations: fromGraph.of(true),
  });
}
