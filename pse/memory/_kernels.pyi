"""Types of the kernels' Cython face (cext/kernels/_kernels.pyx)."""

from typing_extensions import Buffer

def strided_copy(dst: Buffer, src: Buffer) -> None: ...
