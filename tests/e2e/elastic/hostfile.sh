#!/usr/bin/env bash
# A job with --nodes MIN:MAX follows its hostfile: hosts are added and removed; a file that is empty, missing, wrong or half
# written changes nothing and is one message.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/epochs.sh"

epoch_body ''
replace() { printf "$1" >hosts.tmp; mv hosts.tmp hosts; } # TEXT
said() { grep -qE -- "$1" err; }
keeps='^dslaunch: the hostfile has changed, and the job keeps its hosts: '
times() { [ "$(grep -cE -- "$1" err)" = "$2" ] || die "not $2 times: $1"; }

printf 'n%s slots=2\n' 0 1 2 >hosts
background --transport local --hostfile hosts --nodes 2:4 --admit now --grace 2s -- bash -c "$body"
wait_for epoch_is_up 0 6

: >hosts
wait_for said "${keeps}hosts: the file names no host$"
replace 'n0 slots=2\nn1 slots=x\n'
wait_for said "${keeps}hosts:2:10: "
rm hosts
wait_for said "${keeps}.*hosts.*(No such file|cannot)"
replace 'n0 slots=2\n'
wait_for said "${keeps}1 host would be left; the job needs at least 2$"
replace 'n0 slots=2\nn1 slots=2\nn2 slots=2\nn3 slots=auto\n'
wait_for said "${keeps}n3: the number of slots must be given$"
[ ! -e up.1.0 ] || die "a file with an error has ended the epoch"

replace 'n0 slots=2\nn1 slots=2\nn2 slots=2\nn3 slots=1\n'
wait_for epoch_is_up 1 7
said '^dslaunch: the hostfile has changed: n3 is added$' || die "n3 is not said"
replace 'n3 slots=1\nn1 slots=2\nn2 slots=2' # without the end of the last line: it waits
replace 'n3 slots=1\nn1 slots=2\nn2 slots=2\n'
wait_for epoch_is_up 2 5
said '^dslaunch: the hostfile has changed: n0 is removed$' || die "n0 is not said"
"$dslaunch" scale --add n5 >scale.out 2>&1 || die "scale: $(cat scale.out)"
wait_for epoch_is_up 3 7
replace 'n1 slots=2\nn2 slots=2\n' # n5 is not of the file and stays
wait_for epoch_is_up 4 6
end_epoch 4 0
finish
expect 0 "a job that follows its hostfile"
times "$keeps" 5
nothing_left || die "left: $(job_processes)"
echo "hostfile: all cases passed"
