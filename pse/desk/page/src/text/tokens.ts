// What each word is, as the language server knows it: classes of the text's words.

import type { LSPClient } from "@codemirror/lsp-client";
import { type Range, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

const painted = StateEffect.define<DecorationSet>();

/** The colours of words; they move with the text until the server has told new ones. */
export const tokenColours = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(before, { effects, changes }) {
    const told = effects.find((effect) => effect.is(painted));
    return told ? told.value : before.map(changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Ask what the words of the present text are; a text that changed meanwhile is left as it is. */
export async function paintTokens(view: EditorView, client: LSPClient, uri: string) {
  const { doc } = view.state;
  const types = client.serverCapabilities?.semanticTokensProvider?.legend.tokenTypes;
  if (!types) return;
  const parameters = { textDocument: { uri } };
  client.sync();
  const told = await client.request<object, { data: number[] } | null>("textDocument/semanticTokens/full", parameters);
  if (told && view.state.doc === doc) view.dispatch({ effects: painted.of(decorations(doc, told.data, types)) });
}

/** Each word is five numbers: lines and characters after the one before, its length, its type, modifiers. */
function decorations(doc: Text, data: number[], types: string[]): DecorationSet {
  const found: Range<Decoration>[] = [];
  let [line, character] = [1, 0];
  for (let at = 0; at < data.length; at += 5) {
    const [lines, characters, length, type] = data.slice(at, at + 4);
    character = lines ? characters : character + characters;
    line += lines;
    if (line > doc.lines) break;
    const from = doc.line(line).from + character;
    const to = Math.min(from + length, doc.line(line).to);
    if (from < to) found.push(Decoration.mark({ class: `tok-${types[type]}` }).range(from, to));
  }
  return Decoration.set(found, true);
}
