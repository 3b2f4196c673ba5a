// Coven programs in VS Code: the language server `pse lsp`, and a program's graph beside its text.

import { ExtensionContext, commands, workspace } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import { GraphPreview } from "./graph";

const MODULE_LANGUAGES = ["c", "cpp", "cython", "python", "fortran", "FortranFreeForm"];

let client: LanguageClient | undefined;

export async function activate(context: ExtensionContext) {
  const preview = new GraphPreview(command);
  context.subscriptions.push(preview, commands.registerCommand("coven.showGraph", () => preview.show()));
  const selector = ["coven", ...MODULE_LANGUAGES].map((language) => ({ scheme: "file", language }));
  client = new LanguageClient("coven", "Coven", { command: command(), args: ["lsp"] }, { documentSelector: selector });
  await client.start();
}

export const deactivate = () => client?.stop();

const command = () => workspace.getConfiguration("coven").get<string>("command", "pse");
