"""Take the repository's CHANGELOG.md into the manual.

A hook of mkdocs: `mkdocs.yml` names it.
"""

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the page."""
    text = Path(config.config_file_path).with_name("CHANGELOG.md").read_text()
    files.append(File.generated(config, "changelog.md", content=text))
