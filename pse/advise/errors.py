"""What advice can't be given for, and why.

Every message says what is missing and what to do.  Next room: ``cli`` prints it.
"""

from __future__ import annotations

from pse.language.errors import UsageError


class AdviceError(UsageError):
    """There is nothing to advise on, or it can't be done; the message says why (exit code 2)."""
