from ._files import Directory as Directory
from ._manifest import (
    MANIFEST as MANIFEST,
    CheckpointRefused as CheckpointRefused,
    FileNote as FileNote,
    ManifestFormat as ManifestFormat,
    Saved as Saved,
    verify as verify,
)
