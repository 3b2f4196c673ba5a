"""Frames for fft2d.coven: real images in, spectra out, and the check of a spectrum against scipy.

`images` is a directory of images or arrays, or "samples" for the photographs and elevation models that come
with matplotlib; they are taken in turn and resampled to n × n.
"""

import os

import numpy as np

from pse.modules.std import _files as files
from pse.modules.std._images import as_elements, read


#@ coven module load_frame(in i64 k, in i64 n, in string images = "samples", out c128 image[n, n] @ root)
def load_frame(k, n, images, image):
    """Fill `image` with the k-th frame of the directory."""
    image[...] = as_elements(read(images, k, n), image.dtype)


#@ coven module save_frame(in i64 k, in c128 spectrum[n, n] @ root, in string results = "results")
def save_frame(k, spectrum, results):
    """Write a spectrum to `results`/frame-0000.npy and so on."""
    os.makedirs(results, exist_ok=True)
    files.save(os.path.join(results, f"frame-{k:04d}.npy"), spectrum)


#@ coven module frame_error(in i64 k, in c128 spectrum[n, n] @ root, in string images = "samples",
#@                          out f64 error)
def frame_error(k, spectrum, images):
    """Compare a spectrum with scipy's FFT of the frame: norm of the difference over norm of the spectrum."""
    import scipy.fft

    expected = scipy.fft.fft2(read(images, k, spectrum.shape[0]))
    return np.linalg.norm(spectrum - expected) / np.linalg.norm(expected)
