#!/usr/bin/env bash
# Compares ranks under dslaunch's mpirun with Debian's mpirun: variables, output, input and exit codes.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
theirs=/usr/bin/mpirun.openmpi
[ -x "$theirs" ] || { echo "SKIP: Debian's openmpi-bin is not installed"; exit 77; }
mkdir bin
for name in mpirun mpiexec.hydra; do ln -s "$dslaunch" "bin/$name"; done
hosts=(-host localhost:3)
# One write a line: Open MPI's own output cuts lines that come in pieces into each other.
show='echo $(env | grep -E "^(OMPI_COMM_WORLD_|OMPI_UNIVERSE_SIZE|A=|B=)" | sort)'
words=(-x A=1 -x 'B=two words' --mca pml ob1)

both() { # both WHAT WORDS...: sorted standard output and the exit code are equal
  local what=$1 own other
  shift
  bin/mpirun "${hosts[@]}" -np 3 "$@" >out 2>err </dev/null
  own=$?
  "$theirs" --allow-run-as-root "${hosts[@]}" -np 3 "$@" >theirs 2>theirs.err </dev/null
  other=$?
  [ "$own" = "$other" ] || die "$what: exit code $own, Open MPI's $other"
  diff <(sort out) <(sort theirs) >difference || { cat difference; die "$what: not as under Open MPI"; }
}
both 'variables' "${words[@]}" sh -c "$show"
[ "$(bin/mpirun "${hosts[@]}" -np 1 "${words[@]}" sh -c 'echo $OMPI_MCA_pml')" = ob1 ] || die '--mca does not reach the ranks'
both '--tag-output' --tag-output sh -c 'echo "line of $OMPI_COMM_WORLD_RANK"'
hosts=(-host localhost:4)
both 'several programs' sh -c 'echo first' : -np 1 sh -c 'echo "second $OMPI_COMM_WORLD_RANK"'
both '-wdir' -wdir /usr pwd
own=$(printf 'one\ntwo\n' | bin/mpirun "${hosts[@]}" -np 2 sh -c 'cat | tr "\n" ,')
other=$(printf 'one\ntwo\n' | "$theirs" --allow-run-as-root "${hosts[@]}" -np 2 sh -c 'cat | tr "\n" ,')
[ "$own" = "$other" ] || die "standard input: '$own', Open MPI's '$other'"
bin/mpirun -np 2 sh -c 'exit 7' >out 2>err
[ $? = 7 ] || die 'the exit code of a rank'

# Hydra's words.
bin/mpiexec.hydra -n 2 -genv A 1 -env B 2 sh -c 'echo "$PMI_RANK of $PMI_SIZE: $A $B"' >out 2>err || die 'mpiexec.hydra'
[ "$(sort out | tr '\n' ';')" = '0 of 2: 1 2;1 of 2: 1 2;' ] || die "mpiexec.hydra: $(cat out)"
echo 'mpirun: variables, output, input and exit codes are as under Open MPI'
