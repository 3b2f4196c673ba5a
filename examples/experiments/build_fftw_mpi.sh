#!/bin/sh
# Builds FFTW with its MPI transform for the MPI that pse uses:  build_fftw_mpi.sh [DIRECTORY]
#
# Debian's libfftw3-mpi is built for Debian's MPI, so its source is built here with the mpicc beside this
# environment's Python (or the one on PATH).  Takes some minutes.  The codelets are those of the pyfftw wheel
# (SSE2 and AVX), so that both sides compute alike.
set -eu

target=${1:-fftw}
mpicc=${MPICC:-$(command -v .venv/bin/mpicc || command -v mpicc || true)}
if [ -z "$mpicc" ]; then
    echo 'No mpicc: neither .venv/bin/mpicc here nor one on PATH.  Name it: MPICC=/path/to/mpicc build_fftw_mpi.sh' >&2
    exit 1
fi
case $mpicc in /*) ;; *) mpicc=$PWD/$mpicc ;; esac
mkdir -p "$target"
target=$(cd "$target" && pwd)
cd "$target"

mkdir -p lists/partial
echo 'deb-src http://deb.debian.org/debian bookworm main' >sources
apt="-q -o Dir::Etc::sourcelist=$target/sources -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=$target/lists -o Dir::Cache=$target"
# shellcheck disable=SC2086 # The options are words.
apt-get $apt update
# shellcheck disable=SC2086
apt-get $apt source --download-only fftw3
tar xf fftw3_*.orig.tar.gz
cd fftw-3*/

simd=
if [ "$(uname -m)" = x86_64 ]; then
    simd='--enable-sse2 --enable-avx'
fi
# shellcheck disable=SC2086
./configure -q --prefix="$target" --enable-mpi --enable-shared --disable-static --disable-fortran \
    --disable-doc $simd MPICC="$mpicc"
make -s -j"$(nproc)"
make -s install
echo "PSE_FFTW_MPI=$target/lib/libfftw3_mpi.so"
