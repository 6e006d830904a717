#!/usr/bin/env bash
# Compares short command lines under MPICH's mpiexec.hydra, or Open MPI's mpirun, with dslaunch in its place.
set -u
command -v python3 >/dev/null || { echo "SKIP: python3 is not installed"; exit 77; }
if command -v mpiexec.hydra >/dev/null; then
  set -- --openmpi ''
elif command -v mpirun.openmpi >/dev/null; then
  set -- --hydra ''
else
  echo "SKIP: neither mpiexec.hydra (mpich) nor mpirun.openmpi (openmpi-bin) is installed"
  exit 77
fi
exec python3 "$DS_SOURCE/tests/e2e/mpi/same_as_mpirun.py" --dslaunch "$DS_BIN/dslaunch" "$@" --at-least 12
