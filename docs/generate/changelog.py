"""Take the repository's CHANGELOG.md into the manual.

mkdocs-gen-files runs this file while the manual is built.
"""

from pathlib import Path

import mkdocs_gen_files

ROOT = Path(__file__).parents[2]

with mkdocs_gen_files.open("changelog.md", "w") as page:
    page.write((ROOT / "CHANGELOG.md").read_text())
