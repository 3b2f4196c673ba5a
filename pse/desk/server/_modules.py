"""New modules, and builds of modules with the compiler's messages at their lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pse.desk.server._errors import Refusal
from pse.desk.server._files import Directory
from pse.language import parse_directive
from pse.language.diagnostics import Span, has_errors
from pse.language.types import Signature
from pse.modules import BuildError, build_module
from pse.modules.build import (
    TEMPLATE_ENDINGS,
    module_text,
    read_module_file,
    require_function_name,
    require_source_names,
    template_text,
)
from pse.modules.directives import language_of

_MESSAGE = re.compile(
    r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?:(?P<kind>fatal error|error|warning|note): )?(?P<text>.+)$",
    re.MULTILINE,
)

Json = dict[str, Any]


def create_module(directory: Directory, asked: Mapping[str, Any]) -> Json:
    """Write a source file of a module that compiles as it is.

    Raises
    ------
    Refusal
        If its name, its language or its ports are wrong, or there is such a file.
    """
    name, language = asked.get("name"), asked.get("language", "c")
    if language not in TEMPLATE_ENDINGS:
        raise Refusal(f"there is no language {language}", help=f"choose one of {', '.join(TEMPLATE_ENDINGS)}")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise Refusal(f"`{name}` can't be the name of a module", help="letters, digits and _ are possible")
    require_function_name(name, language)
    require_source_names([name], language)
    ports = asked.get("ports")
    text = template_text(name, language) if ports is None else module_text(_signature(name, ports), language)
    path = f"{name}{TEMPLATE_ENDINGS[language]}"
    if directory.find(path).exists():
        raise Refusal(f"there is a file {path} already", 409, help="choose another name")
    return {**directory.save(path, text, None), "text": text}


def _signature(name: str, ports: object) -> Signature:
    """Read ports as the directive that they are."""
    if not isinstance(ports, list) or not all(isinstance(port, dict) for port in ports):
        raise Refusal(
            "the ports are not a list of objects", help='[{"direction": "in", "type": "f64[n]", …}]'
        )
    written = ", ".join(_port(port) for port in ports)
    text = f"{name}({written})"
    found = parse_directive(text, Span(name, 1, 1, 1, len(text) + 1))
    if not isinstance(found, Signature):
        raise Refusal(found[0].message, help=found[0].help)
    return found


def _port(port: Mapping[str, Any]) -> str:
    """Write a port: the shape and the distribution of its type stand behind its name in a directive."""
    kind = re.fullmatch(r"\s*(\w+)\s*(\[[^@]*\])?\s*(@.*)?", str(port.get("type", "")))
    if kind is None:
        raise Refusal(f"`{port.get('type')}` is not a type", help="for example  f64[n]  or  i64")
    where = f" {kind[3]}" if kind[3] else ""
    return f"{port.get('direction')} {kind[1]} {port.get('name')}{kind[2] or ''}{where}"


def build(directory: Directory, asked: Mapping[str, Any]) -> Json:
    """Build a module's file, and give what the compiler says."""
    path = directory.find(asked.get("path"))
    shown = directory.shown(path)
    file = read_module_file(shown)
    found = [
        {
            "path": shown,
            "line": d.span.line,
            "column": d.span.column,
            "severity": d.severity.value,
            "message": d.message + (f"\nhelp: {d.help}" if d.help else ""),
        }
        for d in file.diagnostics
    ]
    names = [signature.name for signature in file.signatures]
    result: Json = {"ok": not has_errors(file.diagnostics), "cached": False, "seconds": 0.0, "output": ""}
    if result["ok"] and language_of(shown) != "python":
        result |= _built(shown)
        found += messages(result["output"], shown)
    return {**result, "modules": names, "messages": found}


def _built(shown: str) -> Json:
    try:
        built = build_module(shown)
    except BuildError as error:
        help = f"\nhelp: {error.help}" if error.help else ""
        return {"ok": False, "output": f"{error.message}{help}"}
    return {"ok": True, "cached": built.hit, "seconds": round(built.seconds, 3), "output": built.warnings}


def messages(output: str, path: str) -> Iterator[Json]:
    """Give what a compiler says about lines of a file; what it says without a line is about the first."""
    found = list(_MESSAGE.finditer(output))
    for one in found:
        kind = one["kind"] or "error"
        yield {
            "path": one["path"],
            "line": int(one["line"]),
            "column": int(one["column"] or 1),
            "severity": "error" if "error" in kind else "warning" if kind == "warning" else "note",
            "message": one["text"],
        }
    if output and not found:
        yield {
            "path": path,
            "line": 1,
            "column": 1,
            "severity": "error",
            "message": output.partition("\n")[0],
        }
