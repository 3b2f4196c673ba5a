// Dialogs: a list that one chooses from, fields that are asked for, two texts of one file.

import { type FormEvent, type KeyboardEvent, type ReactNode, Suspense, lazy, useEffect, useId, useRef, useState } from "react";
import { type AskedField, type ChooserItem, type Dialog, update, useDesk } from "../store";
import { Choices } from "./fields";

const MOST_SHOWN = 200;
const Conflict = lazy(async () => ({ default: (await import("./Conflict")).Conflict })); // rarely needed

export function Dialogs() {
  const dialog = useDesk((desk) => desk.dialog);
  if (!dialog) return null;
  return (
    <Modal key={titleOf(dialog)} title={titleOf(dialog)} wide={dialog.kind === "conflict"}>
      {dialog.kind === "choose" && <Chooser title={dialog.title} items={dialog.items} />}
      {dialog.kind === "ask" && <Asking title={dialog.title} fields={dialog.fields} done={dialog.done} />}
      {dialog.kind === "conflict" && (
        <Suspense>
          <Conflict of={dialog.of} theirs={dialog.theirs} revision={dialog.revision} />
        </Suspense>
      )}
    </Modal>
  );
}

const titleOf = (dialog: Dialog) => (dialog.kind === "conflict" ? "Two texts of one file" : dialog.title);

const close = () => update({ dialog: null });

function Modal({ title, wide, children }: { title: string; wide: boolean; children: ReactNode }) {
  const shown = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    shown.current!.showModal();
    return () => before?.focus?.();
  }, []);
  return (
    <dialog
      ref={shown}
      aria-label={title}
      className={wide ? "wide" : ""}
      onClose={close}
      onClick={(event) => event.target === shown.current && close()}
    >
      {children}
    </dialog>
  );
}

function Chooser({ title, items }: { title: string; items: ChooserItem[] }) {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const found = items.filter((item) => matches(`${item.title} ${item.detail ?? ""}`, typed)).toSorted((one, other) => nearness(other.title, typed) - nearness(one.title, typed)).slice(0, MOST_SHOWN);
  useEffect(() => void list.current?.children[at]?.scrollIntoView({ block: "nearest" }), [at]);
  const pick = (item?: ChooserItem) => {
    if (!item || item.disabled) return;
    close();
    item.run();
  };
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setAt((at + step + found.length) % Math.max(found.length, 1));
    else if (event.key === "Enter") pick(found[at]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        autoFocus
        placeholder={title}
        aria-label={title}
        role="combobox"
        aria-expanded="true"
        aria-controls="choices"
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          setAt(0);
        }}
        onKeyDown={pressed}
      />
      <ul className="list" id="choices" role="listbox" ref={list}>
        {found.map((item, index) => (
          <li
            key={index}
            role="option"
            aria-selected={index === at}
            aria-disabled={item.disabled}
            onMouseMove={() => setAt(index)}
            onClick={() => pick(item)}
          >
            <span>
              {item.title} {item.detail && <small>{item.detail}</small>}
            </span>
            {item.keys && <kbd>{item.keys}</kbd>}
          </li>
        ))}
        {found.length === 0 && <li aria-disabled="true">Nothing fits.</li>}
      </ul>
    </>
  );
}

/** Whether all words that were typed are in a text. */
const matches = (text: string, typed: string) =>
  typed.toLowerCase().split(/\s+/).every((word) => text.toLowerCase().includes(word));

/** A title that is what was typed comes first, then those that begin so. */
function nearness(title: string, typed: string): number {
  const [known, asked] = [title, typed].map((text) => text.trim().toLowerCase());
  return Number(known.startsWith(asked)) + Number(known === asked);
}

interface AskingProps {
  title: string;
  fields: AskedField[];
  done: (values: Record<string, string>) => void;
}

function Asking({ title, fields, done }: AskingProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    close();
    done(Object.fromEntries(fields.map(({ name }) => [name, String(form.get(name) ?? "").trim()])));
  };
  return (
    <form className="content form" onSubmit={submit}>
      <h2>{title}</h2>
      {fields.map((field, index) => (
        <AskedInput key={field.name} field={field} first={index === 0} />
      ))}
      <div className="row">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button className="main">OK</button>
      </div>
    </form>
  );
}

function AskedInput({ field, first }: { field: AskedField; first: boolean }) {
  const list = useId();
  return (
    <label>
      {field.label}
      <input
        name={field.name}
        defaultValue={field.value}
        required={field.required}
        autoFocus={first}
        list={field.choices && list}
        spellCheck={false}
        autoComplete="off"
      />
      {field.choices && <Choices id={list} choices={field.choices} />}
    </label>
  );
}
