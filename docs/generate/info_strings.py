"""What mkdocs does before it reads a page: take off the info strings that only the tests read."""

import re
from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Leave the language alone of ```` ```c file=blur.c ```` and ```` ```console exit=1 ````."""
    return re.sub(r"^(`{3,}[\w+-]*) [^`\n]*$", r"\1", markdown, flags=re.MULTILINE)
