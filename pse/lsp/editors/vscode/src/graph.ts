// The picture that `pse graph` draws, beside the text; drawn anew when the program is saved.

import { execFile } from "node:child_process";
import { dirname } from "node:path";
import { Disposable, TextDocument, Uri, ViewColumn, WebviewPanel, window, workspace } from "vscode";

const LARGEST_PICTURE = 64 * 2 ** 20;

export class GraphPreview implements Disposable {
  private panel: WebviewPanel | undefined;
  private program: Uri | undefined;
  private readonly saved = workspace.onDidSaveTextDocument((document) => this.redraw(document));

  constructor(private readonly command: () => string) {}

  show() {
    const document = window.activeTextEditor?.document;
    if (document?.languageId !== "coven") return;
    this.program = document.uri;
    this.panel ??= this.open();
    this.panel.title = `Graph of ${workspace.asRelativePath(document.uri)}`;
    this.panel.reveal(ViewColumn.Beside, true);
    this.draw();
  }

  dispose() {
    this.saved.dispose();
    this.panel?.dispose();
  }

  private open(): WebviewPanel {
    const panel = window.createWebviewPanel("coven.graph", "Graph", { viewColumn: ViewColumn.Beside, preserveFocus: true });
    panel.onDidDispose(() => (this.panel = undefined));
    return panel;
  }

  private redraw(document: TextDocument) {
    if (document.uri.toString() === this.program?.toString()) this.draw();
  }

  private draw() {
    const file = this.program!.fsPath;
    const options = { cwd: dirname(file), maxBuffer: LARGEST_PICTURE };
    execFile(this.command(), ["graph", file, "--format", "svg"], options, (error, picture, said) => {
      if (this.panel) this.panel.webview.html = page(error ? `<pre>${escaped(said || error.message)}</pre>` : image(picture));
    });
  }
}

/** As an image: nothing in a picture is run. */
const image = (picture: string) =>
  `<img alt="Graph of the program" src="data:image/svg+xml;base64,${Buffer.from(picture).toString("base64")}">`;

const page = (content: string) =>
  `<!doctype html><meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">` +
  `<style>body { background: #fff; color: #000 } img { max-width: 100% }</style>${content}`;

const escaped = (text: string) => text.replace(/[&<]/g, (one) => (one === "&" ? "&amp;" : "&lt;"));
