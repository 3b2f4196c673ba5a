// The languages of modules' sources; loaded when one is opened, since most pages show none.

import { cpp } from "@codemirror/lang-cpp";
import { python } from "@codemirror/lang-python";
import type { Extension } from "@codemirror/state";

const LANGUAGES: Record<string, () => Extension> = { c: cpp, cpp, h: cpp, cc: cpp, py: python, pyx: python };

/** What the editor knows of a language, by the ending of a file. */
export const languageOf = (ending: string): Extension => LANGUAGES[ending]?.() ?? [];
