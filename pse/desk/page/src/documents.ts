// The texts that are open, the program's and that of a module's source: how they are saved, and what comes of files that change elsewhere.

import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { query, request, ServerError, Unreachable } from "./http";
import type { ProgramFile } from "./protocol";
import { type Message, type OpenFile, desk, note, oneByOne, say, sayUnheard, update } from "./store";
import { type Watcher, editorState, replaceText } from "./text/editor";

export class OpenText {
  readonly view = new EditorView();
  private onDisk: string | null = ""; // as far as the page knows; null: what can't be read
  private readonly inTurn = oneByOne();
  private complaint: Message | null = null;

  constructor(private readonly kind: "file" | "source") {}

  get file(): OpenFile | null {
    return desk()[this.kind];
  }

  get text(): string {
    return this.view.state.doc.toString();
  }

  /** Whether something would be lost without being saved. */
  get edited(): boolean {
    return this.file !== null && this.text !== this.onDisk;
  }

  show({ text, ...file }: Omit<ProgramFile, "kind" | "revision"> & { revision: string | null }, language: Extension, watcher: Watcher) {
    this.onDisk = text;
    update({ [this.kind]: { ...file, changed: file.revision === null } });
    const changed = () => {
      this.mark();
      watcher.changed();
    };
    this.view.setState(editorState(text, language, { ...watcher, changed }));
  }

  private mark(revision = this.file!.revision) {
    const changed = revision === null || this.edited;
    const { file } = this;
    if (changed !== file!.changed || revision !== file!.revision) update({ [this.kind]: { ...file!, revision, changed } });
  }

  /** Write the text to the disk, over that of a revision; false if it is not there afterwards. */
  save(over?: string | null): Promise<boolean> {
    return this.inTurn(() => this.write(over));
  }

  private async write(revision = this.file?.revision ?? null): Promise<boolean> {
    const { file, text } = this;
    if (!file) return false;
    try {
      const saved = await request<{ revision: string }>("PUT", "file", { path: file.path, text, revision });
      this.isOnDisk(file, text, saved.revision);
      return true;
    } catch (error) {
      return this.notSaved(file, error);
    }
  }

  private isOnDisk({ uri }: OpenFile, text: string, revision: string | null) {
    if (this.file?.uri !== uri) return;
    this.onDisk = text;
    this.mark(revision);
    if (desk().message === this.complaint) update({ message: null });
  }

  private notSaved(file: OpenFile, error: unknown): boolean {
    if (error instanceof ServerError && error.status === 409) {
      const { text, revision } = error.body as { text: string | null; revision: string | null };
      if (text === this.text) this.isOnDisk(file, text, revision);
      else this.differs(file, text, revision);
      return text === this.text;
    }
    if (error instanceof Unreachable) this.complaint = sayUnheard(`Not saved: ${error.message}.`, "The text is kept in this page.");
    else this.complain((error as Error).message, error instanceof ServerError ? error.help : null);
    return false;
  }

  private complain(message: string, help: string | null) {
    this.complaint = say(message, help);
  }

  private isInDialog(): boolean {
    const { dialog } = desk();
    return dialog?.kind === "conflict" && dialog.of === this;
  }

  /** Show both texts; what a person does at the moment is not taken away for it. */
  private differs({ path }: OpenFile, theirs: string | null, revision: string | null) {
    if (!desk().dialog || this.isInDialog()) update({ dialog: { kind: "conflict", of: this, theirs, revision } });
    else this.complain(`${path} was changed or deleted elsewhere.`, "Your text is kept in this page; save it to see both.");
  }

  /** A file was changed by somebody else, or deleted, which has no revision. */
  changedOnDisk(path: string, revision: string | null): Promise<void> {
    return this.inTurn(() => this.lookAgain(path, revision));
  }

  private async lookAgain(path: string, revision: string | null) {
    const { file } = this;
    if (!file || file.path !== path || file.revision === revision) return;
    if (revision === null) {
      this.mark(null);
      if (this.isInDialog()) this.differs(file, null, null);
      else this.complain(`${path} was deleted from the disk.`, "The text is kept in this page: saving writes the file again.");
      return;
    }
    const disk = await this.read(path);
    if (!disk || disk.revision === file.revision) return; // Meanwhile this page has saved it.
    if (disk.text === this.text) this.isOnDisk(file, disk.text, disk.revision);
    else if (this.edited) this.differs(file, disk.text, disk.revision);
    else this.take(disk.text, disk.revision, `${path} was changed elsewhere: this is the new text.`);
  }

  private async read(path: string): Promise<ProgramFile | null> {
    try {
      return await request<ProgramFile>("GET", `file?${query({ path })}`);
    } catch (error) {
      if (!(error instanceof ServerError)) throw error;
      this.onDisk = null;
      this.mark();
      this.complain(error.message, error.help);
      return null;
    }
  }

  /** Show the text that is on the disk under a revision. */
  take(text: string, revision: string | null, message: string) {
    replaceText(this.view, text);
    this.isOnDisk(this.file!, text, revision);
    note(message);
  }
}
