// The language server over a WebSocket; the graph's requests refer to the same open text.

import { LSPClient, languageServerExtensions } from "@codemirror/lsp-client";
import { keepOpen } from "../socket";

const LONGEST_ANSWER_MS = 20_000;

export interface Language {
  client: LSPClient;
  /** Send what was typed, and ask about the text that the server then has. */
  ask<Answer>(method: string, uri: string, parameters?: object): Promise<Answer>;
}

export function connectLanguage(rootUri: string, changed: (connected: boolean) => void): Language {
  const client = new LSPClient({
    rootUri,
    timeout: LONGEST_ANSWER_MS,
    extensions: languageServerExtensions(),
  });
  const handlers = new Set<(text: string) => void>();
  keepOpen("lsp", {
    opened(send) {
      client.connect({
        send,
        subscribe: (handler) => handlers.add(handler),
        unsubscribe: (handler) => handlers.delete(handler),
      });
      client.initializing.then(() => changed(true));
    },
    received: (text) => handlers.forEach((handler) => handler(text)),
    lost() {
      client.disconnect();
      changed(false);
    },
  });
  return { client, ask: (method, uri, parameters) => ask(client, method, uri, parameters) };
}

async function ask<Answer>(client: LSPClient, method: string, uri: string, parameters: object = {}): Promise<Answer> {
  client.sync();
  const version = client.workspace.getFile(uri)?.version ?? 0;
  return client.request<object, Answer>(method, { uri, version, ...parameters });
}
