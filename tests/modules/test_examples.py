"""Every file under examples/ and programs/ is built and called, and does what its head says."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def test_smooth_averages_neighbours(call, load_module):
    u = np.arange(30.0).reshape(5, 6) ** 2
    v, residual = call(load_module(EXAMPLES / "smooth.c"), u)
    inner = (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) / 4
    np.testing.assert_array_equal(v[1:-1, 1:-1], inner)
    np.testing.assert_array_equal(v[0], u[0])
    assert residual == np.abs(v - u).max()


def test_smooth_says_why_it_failed(call_native, load_module):
    module = load_module(EXAMPLES / "smooth.c")
    code, _ = call_native(module, np.full((3, 3), np.inf))
    assert code == 1
    assert module.error_text(code) == "a value is infinite or not a number"


def test_histogram_agrees_with_numpy(call, load_module):
    x = np.random.default_rng(1).normal(size=1000)
    counts, outside = call(load_module(EXAMPLES / "histogram.cpp"), x, -1.0, 1.0, 16)
    np.testing.assert_array_equal(counts, np.histogram(x, 16, (-1, 1))[0])
    assert counts.sum() + outside == 1000


def test_an_exception_of_cpp_becomes_a_code_with_its_text(call_native, load_module):
    module = load_module(EXAMPLES / "histogram.cpp")
    code, _ = call_native(module, np.zeros(4), 1.0, -1.0, 4)
    assert code != 0
    assert module.error_text(code) == "lower must be less than upper"


def test_running_mean_fills_its_output(call, load_module):
    module = load_module(EXAMPLES / "running_mean.cpp")
    assert module.fills == {"mean"}
    (mean,) = call(module, np.arange(5.0), 2)
    np.testing.assert_allclose(mean, [0, 0.5, 1.5, 2.5, 3.5])


def test_mandelbrot_knows_inside_from_outside(call, call_native, load_module):
    module = load_module(EXAMPLES / "mandelbrot.pyx")
    (steps,) = call(module, -2.0, 2.0, 4.0, 64, 100)
    assert steps.dtype == np.int32
    assert steps[32, 32] == 100
    assert steps[0, 0] == 1
    code, _ = call_native(module, -2.0, 2.0, 4.0, 4, 0)
    assert (code, module.error_text(code)) == (1, "n and limit must be at least 1")


@pytest.mark.skipif(shutil.which("gfortran") is None, reason="gfortran is not installed")
def test_fortran_sees_the_axes_turned_round(call, load_module):
    a = np.arange(12.0).reshape(3, 4)
    (sums,) = call(load_module(EXAMPLES / "columns.f90", "row_sums"), a)
    np.testing.assert_array_equal(sums, a.sum(axis=1))
    y = np.ones(4)
    call(load_module(EXAMPLES / "columns.f90", "add_scaled"), 2.0, np.arange(4.0), y)
    np.testing.assert_array_equal(y, [1, 3, 5, 7])


def test_python_returns_fills_and_changes_in_place(call, load_module):
    x = np.random.default_rng(2).normal(size=100)
    mean, deviation = call(load_module(EXAMPLES / "statistics.py", "describe"), x)
    assert (mean, deviation) == (x.mean(), x.std())
    (z,) = call(load_module(EXAMPLES / "statistics.py", "standardise"), x)
    np.testing.assert_allclose([z.mean(), z.std()], [0, 1], atol=1e-12)
    clipped = x.copy()
    (count,) = call(load_module(EXAMPLES / "statistics.py", "clip"), clipped, 1.0)
    assert count == np.count_nonzero(np.abs(x) > 1)
    np.testing.assert_array_equal(clipped, np.clip(x, -1, 1))


@pytest.mark.parametrize("shape", [(1, 1), (3, 5), (7, 600), (100, 64), (5, 4096), (33, 128), (0, 8)])
def test_fft_of_rows_agrees_with_scipy(shape, call, load_module):
    scipy_fft = pytest.importorskip("scipy.fft")
    rng = np.random.default_rng(3)
    a = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    expected = scipy_fft.fft(a, axis=1)
    call(load_module(ROOT / "programs/kernels/fft.c"), a)
    assert np.linalg.norm(a - expected) <= 1e-14 * np.linalg.norm(expected)


def test_fft_keeps_its_wisdom_between_runs(fresh_cache, load_module, call):
    call(load_module(ROOT / "programs/kernels/fft.c"), np.ones((2, 12), np.complex128))
    assert (fresh_cache / "fftw.wisdom").read_text().startswith("(fftw-")
    assert sorted(path.name for path in fresh_cache.glob("fftw*")) == ["fftw.lock", "fftw.wisdom"]


def test_fft_is_right_when_several_threads_call_it(load_module, call):
    module = load_module(ROOT / "programs/kernels/fft.c")
    arrays = [np.eye(40, 24 + k % 3, dtype=np.complex128) for k in range(12)]
    expected = np.concatenate([np.fft.fft(a, axis=1).ravel() for a in arrays])
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda a: call(module, a), arrays))
    np.testing.assert_allclose(np.concatenate([a.ravel() for a in arrays]), expected, atol=1e-13)


def test_fft_of_unaligned_rows_is_right(call, load_module):
    scipy_fft = pytest.importorskip("scipy.fft")
    raw = np.zeros(16 * 40 + 8, np.uint8)
    a = raw[8:].view(np.complex128).reshape(4, 10)
    assert a.ctypes.data % 16 == 8
    a[:] = np.random.default_rng(4).normal(size=(4, 10))
    expected = scipy_fft.fft(a, axis=1)
    call(load_module(ROOT / "programs/kernels/fft.c"), a)
    np.testing.assert_allclose(a, expected, rtol=0, atol=1e-13)


def test_frames_go_round_and_the_error_is_measured(call, load_module):
    pytest.importorskip("scipy")
    pytest.importorskip("matplotlib")
    load_frame = load_module(ROOT / "programs/frames.py", "load_frame")
    (first,) = call(load_frame, 0, 32, "samples")
    (again,) = call(load_frame, 4, 32, "samples")
    np.testing.assert_array_equal(first, again)
    frame_error = load_module(ROOT / "programs/frames.py", "frame_error")
    (error,) = call(frame_error, 0, np.fft.fft2(first), "samples")
    assert error < 1e-12
    (error,) = call(frame_error, 1, np.fft.fft2(first), "samples")
    assert error > 0.1


def test_spectra_are_saved_where_the_user_says(tmp_path, call, load_module):
    save_frame = load_module(ROOT / "programs/frames.py", "save_frame")
    spectrum = np.ones((4, 4), np.complex128)
    assert call(save_frame, 7, spectrum, str(tmp_path / "out")) == ()
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "frame-0007.npy"), spectrum)
