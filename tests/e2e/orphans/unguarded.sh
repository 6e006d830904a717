#!/usr/bin/env bash
# A launcher as careless as can be (launcher - "guard" - "agent" - "shims" that only wait), to prove that
# the trials find orphans. Its ranks end by themselves after a minute.
# Usage: unguarded.sh -n N -- RANK_PROGRAM WAYS FOLDER
ranks=$2
shift 3
export ranks
bash -c '
  bash -c "
    for ((i = 0; i < ranks; ++i)); do
      RANK=\$i bash -c \"\\\"\\\$@\\\"; :\" shim \"\$@\" &
    done
    wait; :" agent "$@"
  :' guard "$@"
:
