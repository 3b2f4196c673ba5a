// Fields of forms: what is typed becomes a change of the program when it is finished.

import { flushSync } from "react-dom";
import { type ReactNode, useEffect, useId, useState } from "react";

interface TextProps {
  label: string;
  name?: string;
  value: string;
  placeholder?: string;
  choices?: string[];
  done: (value: string) => unknown;
}

/** A text that counts when Enter is pressed or the field is left; Escape takes back what was typed.  `done` may
 * promise null for a text that is refused: it stays, marked, and only Enter sends it again. */
export function TextField({ label, name = label, value, placeholder, choices, done }: TextProps) {
  const [typed, setTyped] = useState(value);
  const [refused, setRefused] = useState<string | null>(null);
  const list = useId();
  useEffect(() => setTyped(value), [value]);
  const takeBack = (input: HTMLInputElement) => {
    flushSync(() => setTyped(value));
    input.blur();
  };
  const text = typed.trim();
  const finish = async () => {
    if (text !== value) setRefused((await done(text)) === null ? text : null);
  };
  return (
    <label>
      {label}
      <input
        name={name}
        aria-label={name.startsWith(label) ? name : undefined /* the label alone may be short: "where" */}
        aria-invalid={text === refused && text !== value}
        value={typed}
        placeholder={placeholder}
        list={choices && list}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setTyped(event.target.value)}
        onBlur={() => text !== refused && void finish()}
        onKeyDown={(event) => {
          if (event.key === "Enter") void finish();
          if (event.key === "Escape") takeBack(event.currentTarget);
        }}
      />
      {choices && <Choices id={list} choices={choices} />}
    </label>
  );
}

export function Choices({ id, choices }: { id: string; choices: string[] }) {
  return (
    <datalist id={id}>
      {choices.map((choice) => (
        <option key={choice} value={choice} />
      ))}
    </datalist>
  );
}

interface ChoiceProps {
  label: string;
  name?: string;
  value: string;
  choices: [value: string, text: string][];
  done: (value: string) => void;
}

export function ChoiceField({ label, name = label, value, choices, done }: ChoiceProps) {
  return (
    <label>
      {label}
      <select name={name} value={value} onChange={(event) => done(event.target.value)}>
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Row({ children }: { children: ReactNode }) {
  return <div className="row">{children}</div>;
}
