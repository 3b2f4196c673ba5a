"""The language of ``.coven`` programs: parse, check, bind, format.

`check_program` makes a resolved program, or diagnostics, out of a text; `bind_parameters` gives its
parameters their values; `format_program` writes it in its canonical form.  Subpackages, from the ground up:
`diagnostics`, `types`, `syntax`, `check`, `io`.  This room imports no other room of pse.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
