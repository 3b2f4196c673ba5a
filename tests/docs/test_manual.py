"""The manual as a whole: nothing missing, no dead links, and what it says of the code is true."""

import ast
import dataclasses
import functools
import importlib
import importlib.util
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import CliRunner

import pse.trace
import pse.views
from pse.cli import main
from pse.runtime.distribution._moves import Moves
from pse.runtime.status._report import Report, SiteReport, ThreadReport

from .manual_pages import commands, followed, runnable

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MANUAL = sorted(DOCS.glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "examples" / "README.md", *MANUAL]
GENERATED = {"command_line.md", "changelog.md"}
"""Pages that the build makes, as it makes api/ and gallery/: it checks the links to these itself."""
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
FENCED = re.compile(r"^(`{3,}).*?^\1[ ]*$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
ENTRIES = re.split(r"^## ", (DOCS / "diagnostics.md").read_text(), flags=re.MULTILINE)[1:]
FENCES = re.compile(r"^(`{3,}).*?^\1[ ]*$", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"<!-- table: imports -->\n(.*?)<!-- end -->", re.DOTALL)


def leaves(group: click.Group, words: tuple[str, ...]) -> Iterator[str]:
    """Name every command that does something, in full."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*words, name))
        else:
            yield " ".join((*words, name))


def headings(page: Path) -> set[str]:
    """Give the anchors of a page's headings, as code hosts and mkdocs make them."""
    titles = re.findall(r"^#+ (.*)$", FENCED.sub(_unfenced, page.read_text()), re.MULTILINE)
    return {re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", title.lower()).strip()) for title in titles}


def _unfenced(match: re.Match[str]) -> str:
    """Leave inline code, which headings may have, and drop fenced blocks."""
    return "" if match[1] else match[0].strip("`")


def dead_links(page: Path) -> Iterator[str]:
    """Give the links of a page that lead nowhere inside the repository."""
    for match in LINK.finditer(FENCED.sub("", page.read_text())):
        target, _, anchor = match["target"].partition("#")
        if re.match(r"\w+:|api/|gallery/", target) or target in GENERATED:
            continue
        file = (page.parent / target).resolve() if target else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in headings(file)):
            yield f"{page.relative_to(ROOT)}: {match['target']}"


def loaded(path: Path) -> ModuleType:
    """Load a file that is in no package."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def architecture() -> ModuleType:
    """Load the test that knows the rooms."""
    return loaded(ROOT / "tests" / "test_architecture.py")


def imports_table() -> str:
    """Write the table of who imports whom from the imports themselves."""
    rule = architecture()
    imported: dict[str, set[str]] = {}
    for name in filter(rule.room_of, rule.MODULES):
        imported.setdefault(rule.room_of(name), set())
    for name, target in rule.crossings():
        imported[rule.room_of(name)].add(rule.room_of(target))
    lines = ["| room | imports |", "| --- | --- |"]
    for room in filter(imported.__contains__, rule.ROOMS):
        below = ", ".join(f"`{name}`" for name in rule.ROOMS if name in imported[room])
        lines.append(f"| `{room}` | {below or '–'} |")
    return "\n".join(lines) + "\n"


def test_every_command_is_in_the_manual():
    text = "\n".join(page.read_text() for page in MANUAL)
    missing = [name for name in leaves(main, ("pse",)) if not re.search(rf"{re.escape(name)}\b", text)]
    assert not missing


def test_every_page_is_in_the_navigation():
    pages = {page.name for page in MANUAL}
    navigation = (ROOT / "mkdocs.yml").read_text()
    assert set(re.findall(r"(\w+\.md)$", navigation, re.MULTILINE)) == pages | GENERATED


def test_every_room_that_users_find_has_a_page_with_its_names():
    reference = loaded(DOCS / "generate" / "api.py")
    pages = {room.__name__: reference.page(room) for room in reference.rooms()}
    for room in pse._ROOMS:
        names = set(getattr(pse, room).__all__)
        shown = re.findall(rf"^      heading: pse\.{room}\.(\w+)$", pages[f"pse.{room}"], re.MULTILINE)
        assert names
        assert names <= set(shown), room


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert not list(dead_links(page))


def test_links_of_the_manual_stay_in_the_manual():
    """Pages are also a site of their own, where the repository's other files are not."""
    targets = {
        f"{page.name}: {match['target']}"
        for page in MANUAL
        for match in LINK.finditer(FENCED.sub("", page.read_text()))
        if match["target"].startswith("../")
    }
    assert not targets


def test_a_dead_link_is_found(tmp_path, monkeypatch):
    (tmp_path / "there.md").write_text("# A `b` title\n\n```\n# none\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md#a-b-title) [b](https://example.org/x) `[c](no.md)` [d](no.md) [e](there.md#none)\n"
    )
    monkeypatch.setitem(dead_links.__globals__, "ROOT", tmp_path)
    assert list(dead_links(page)) == ["page.md: no.md", "page.md: there.md#none"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry[:5])
def test_a_diagnostic_has_its_meaning_an_example_and_a_remedy(entry):
    title, meaning, *rest = entry.strip().split("\n\n")
    assert re.fullmatch(r"[EW]\d{4}: .+", title)
    assert meaning.endswith(".")
    assert rest[0].startswith(("```", "For example "))
    assert re.fullmatch(r"\*\*Remedy\.\*\* .*\.", rest[-1], re.DOTALL)


@pytest.mark.parametrize("kind", [Report, SiteReport, ThreadReport, Moves])
def test_the_manual_has_every_field_of_a_report_in_json(kind):
    page = (DOCS / "running.md").read_text()
    table = page.partition("`--report json` prints one JSON object")[2].partition("\n## ")[0]
    assert not [field.name for field in dataclasses.fields(kind) if f"`{field.name}`" not in table]


def test_who_imports_whom_is_as_the_design_page_says():
    shown = TABLE.search((DOCS / "design.md").read_text())
    assert shown is not None
    assert shown[1] == imports_table()


def test_the_design_page_has_the_rooms_and_their_subpackages():
    row = re.compile(r"^\| `(\w+)` \| [^|]+ \| ((?:`\w+`(?:, )?)+|–) \|$", re.MULTILINE)
    text = (DOCS / "design.md").read_text().partition("<!-- table: imports -->")[0]
    found = {room: tuple(re.findall(r"\w+", subpackages)) for room, subpackages in row.findall(text)}
    assert found == architecture().ROOMS


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_names_of_the_package_in_a_page_exist(page):
    marked = re.findall(r"`([\w./]+)`", FENCES.sub("", page.read_text()))
    files = {name for name in marked if re.match(r"(pse|cext|docs|tests|programs|notebooks)/", name)}
    names = {name for name in marked if re.match(r"pse\.\w", name)} - {"pse.std"}  # A library of Coven's.
    missing = {name for name in files if not (ROOT / name).exists() and "NAME" not in name}
    assert not missing | {name for name in names if not is_there(name)}


def is_there(name: str) -> bool:
    """Say whether a dotted name is one of a module, of what is in a module, or of a file for Cython."""
    path = name.replace(".", "/")
    if (ROOT / path).is_dir() or list(ROOT.glob(f"{path}.*")):
        return True
    module, _, last = name.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), last)
    except ImportError:
        return bool(module) and is_there(module)


def test_the_picture_in_the_readme_is_the_programs(monkeypatch):
    monkeypatch.chdir(ROOT)
    drawn = CliRunner().invoke(main, ["graph", "programs/fft2d.coven", "--format", "mermaid"])
    assert drawn.exit_code == 0, drawn.output
    assert f"```mermaid\n{drawn.stdout}```\n" in (ROOT / "README.md").read_text()


def bound(statements: list[ast.stmt]) -> Iterator[str]:
    """Give the names that statements bind one by one: a documentation generator sees no others."""
    for one in statements:
        if isinstance(one, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield one.name
        elif isinstance(one, ast.Import | ast.ImportFrom):
            yield from (name.asname or name.name for name in one.names)
        elif isinstance(one, ast.Assign | ast.AnnAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            yield from (target.id for target in targets if isinstance(target, ast.Name))
        elif isinstance(one, ast.If | ast.Try):
            yield from bound(one.body + one.orelse)


def exports() -> Iterator[tuple[str, Path, str]]:
    """Give for each name of each facade the file that it comes from."""
    for facade in sorted((ROOT / "pse").rglob("__init__.pyi")):
        for one in ast.parse(facade.read_text()).body:
            if isinstance(one, ast.ImportFrom) and one.level == 1 and one.module:
                source = facade.parent / one.module.replace(".", "/")
                files = [source.with_suffix(".pyi"), source.with_suffix(".py"), source / "__init__.pyi"]
                file = next((file for file in files if file.exists()), None)
                yield from ((str(facade), file, name.name) for name in one.names if file)


def test_the_api_reference_can_find_what_facades_export():
    known = functools.cache(lambda file: set(bound(ast.parse(file.read_text()).body)))
    assert not [(facade, name) for facade, file, name in exports() if name not in known(file)]


def test_the_gallery_draws_every_view():
    drawn = re.findall(r"--view ([\w-]+)", (DOCS / "gallery.md").read_text())
    assert pse.views.VIEWS.keys() <= set(drawn)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site, with all that its pages show; what their tests run is not run again.

    That takes minutes, most of them for pictures of programs: every night.  Links, the navigation and the
    names that facades export are tested each time.
    """
    pytest.importorskip("mkdocs", reason="mkdocs is in the extra docs: make docs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    directory = tmp_path_factory.mktemp("site")
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore", DeprecationWarning)  # Plugins' own.
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(directory), strict=True)
        gallery = config.hooks["docs/generate/gallery.py"]
        patch.setattr(gallery, "run", run_unless_followed(gallery))
        build(config)
    return directory


def run_unless_followed(gallery: ModuleType) -> Callable[[str, Path], None]:
    """Make what the hook runs: of an example it takes what is left where the page was followed."""
    pages = [DOCS / name for name in gallery.PAGES]
    examples = {line: page for page in pages for line in console_lines(page)}
    really = gallery.run

    def run(command: str, directory: Path) -> None:
        if command not in examples:
            return really(command, directory)
        wrong, left = followed(examples[command])
        assert not wrong, "\n\n".join(wrong)
        for path in left.iterdir():
            if not (directory / path.name).exists():
                (directory / path.name).symlink_to(path)
        return None

    return run


def console_lines(page: Path) -> Iterator[str]:
    """Give the commands of a page that its test runs."""
    for block in runnable(page.read_text()):
        if "file" not in block.options:
            yield from (command.text for command in commands(block))


@pytest.mark.mpi
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_the_site_has_its_generated_pages(site):
    assert not {name for name in GENERATED if not (site / name.replace(".md", ".html")).exists()}


@pytest.mark.mpi
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_the_api_reference_has_what_the_facades_export(site):
    page = (site / "api" / "pse.trace.html").read_text()
    assert not [name for name in pse.trace.__all__ if f'id="pse.trace.{name}"' not in page]


@pytest.mark.mpi
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_the_gallery_has_every_view(site):
    page = (site / "gallery.html").read_text()
    pictures = "".join(path.name for path in (site / "gallery").iterdir())
    assert not [name for name in pse.views.VIEWS if name not in page or name not in pictures]


@pytest.mark.mpi
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_pages_fetch_nothing_from_other_machines(site):
    fetched = re.compile(r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=\"?(https?:)?//[^>]*>")
    pages = {str(page.relative_to(site)): fetched.findall(page.read_text()) for page in site.rglob("*.html")}
    assert not {name for name, found in pages.items() if found}
    assert not [name for name in pages if 'class="mermaid"' in (site / name).read_text()]
