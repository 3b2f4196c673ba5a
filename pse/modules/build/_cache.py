"""Where built modules are kept, so that a source is compiled once for each compiler, flags and processor.

    CACHE/modules/KEY/lock
    CACHE/modules/KEY/VARIANT/…           a build, complete since it was renamed here
    CACHE/modules/KEY/VARIANT/build.json

CACHE is `PSE_CACHE`, or the user's cache directory of the system.

KEY says everything known before the compiler runs: source, compiler, flags, trampoline.  The files that the
source includes are known only afterwards, so a key may have several variants, each with the contents of its
files (the direct mode of ccache).  Many ranks and users may ask at once: one builds under the key's lock, the
others wait and find its result; a variant appears by one rename, and a builder that is killed leaves only a
`tmp-` folder, which the next one removes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from pse._cache import advice, code_directory as code_directory, distrust, locked, refuse
from pse.modules._errors import BuildError
from pse.records import dataclass

RECORD = "build.json"


@dataclass(frozen=True)
class Entry:
    """A build in the cache: its folder, what was recorded about it, whether it was there already."""

    folder: Path
    record: Mapping[str, object]
    hit: bool


def digest(data: bytes) -> str:
    """Hash bytes, as text."""
    return hashlib.sha256(data).hexdigest()


def find_or_make(key: str, make: Callable[[Path], tuple[dict[str, str], dict[str, object]]]) -> Entry:
    """Find a build or make it.

    Parameters
    ----------
    key : str
        Hash of everything that is known before building.
    make : callable
        Builds into the folder it is given; returns the hashes of the files that the build read (by absolute
        path) and what else to record: at least the name of the ``product``.  Its exceptions pass through;
        nothing is kept then.

    Raises
    ------
    BuildError
        If the cache directory can't be used.
    RunError
        If strangers may write to it.
    """
    folder = code_directory() / "modules" / key
    if (entry := _lookup(folder)) is not None:
        return entry
    try:
        folder.mkdir(parents=True, exist_ok=True)
        refuse(folder)
        with locked(folder):
            return _lookup(folder) or _make(folder, make)
    except OSError as failure:
        reason = f"{failure.strerror or failure}: {failure.filename or folder}"
        raise BuildError(
            f"the cache of built modules can't be used: {reason}", help=advice(failure)
        ) from None


def _lookup(folder: Path) -> Entry | None:
    for record_file in sorted(folder.glob(f"v*/{RECORD}")):
        try:
            record = json.loads(record_file.read_text())
            current = all(hash_of(path) == known for path, known in record["files"].items())
            product = record_file.parent / record["product"]
            whole = _fingerprint(product) == (record["size"], record["sha256"])
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            continue
        if current and whole and not distrust(product):
            return Entry(record_file.parent, record, hit=True)
    return None


def _fingerprint(product: Path) -> tuple[int, str]:
    """Give size and hash of a build's product, which may be cut off by a full disk or a crash."""
    data = product.read_bytes()
    return len(data), digest(data)


def hash_of(path: str) -> str | None:
    """Hash a file's contents; None if there is no such file (which is a state like another)."""
    try:
        return digest(Path(path).read_bytes())
    except OSError:
        return None


def _make(folder: Path, make: Callable[[Path], tuple[dict[str, str], dict[str, object]]]) -> Entry:
    for stale in folder.glob("tmp-*"):  # The lock is held, so whoever made it is gone.
        shutil.rmtree(stale, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix="tmp-", dir=folder))  # Its name follows from what is built.
    try:
        files, more = make(work)
        size, sha256 = _fingerprint(work / str(more["product"]))
        record: dict[str, object] = {"files": files, **more, "size": size, "sha256": sha256}
        (work / RECORD).write_text(json.dumps(record, indent=1))
        final = folder / f"v{digest(json.dumps(files, sort_keys=True).encode())[:16]}"
        if final.exists():  # Its product was deleted or damaged, or it would have been found.
            shutil.rmtree(final)
        work.chmod(0o755)
        work.rename(final)
    except BaseException:
        shutil.rmtree(work, ignore_errors=True)
        raise
    return Entry(final, record, hit=False)
