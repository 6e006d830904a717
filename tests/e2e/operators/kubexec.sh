#!/usr/bin/env bash
# Tests an etjob without ssh: its original kubexec.sh over a kubectl that ignores input without -i.
set -u
[ "$(id -u)" = 0 ] || { echo "SKIP: host names of their own need root"; exit 77; }
unshare --uts true 2>/dev/null || { echo "SKIP: this system does not allow namespaces"; exit 77; }
. "$DS_SOURCE/tests/support/launch.sh"
mkdir kube mpi
cat >kube/kubectl <<'END'
#!/bin/sh
# kubectl exec [-i] POD --container et -- COMMAND...: in a UTS namespace with the pod's name
[ "$1" = exec ] && shift || exit 64
exec 3</dev/null
[ "$1" = -i ] && shift && exec 3<&0
pod=$1
[ "$2 $3 $4" = "--container et --" ] || { echo "kubectl: $*" >&2; exit 64; }
shift 4
[ "$pod" != etjob-worker-9 ] || { echo 'Error from server (NotFound): pods "etjob-worker-9" not found' >&2; exit 1; }
exec unshare --uts sh -c 'hostname "$1" && shift && exec "$@"' sh "$pod" "$@" <&3 3<&-
END
# What et-operator writes; only the path of kubectl is this test's.
cat >mpi/kubexec.sh <<END
#!/bin/sh
set -x
POD_NAME=\$1
shift
$work/kube/kubectl exec \${POD_NAME} --container et -- /bin/sh -c "\$*"
END
chmod 755 kube/kubectl
chmod 555 mpi/kubexec.sh
printf 'etjob-worker-0 slots=1\netjob-worker-1 slots=2\n' >hostfile
command='echo "$RANK on $(uname -n)"; cat'
want="0 on etjob-worker-0
1 on etjob-worker-1
2 on etjob-worker-1"

# Its own kubectl passes no input on: what an agent would need. This is what running it as it is comes to.
cp mpi/kubexec.sh mpi/as-it-is.sh
run --transport "exec:$work/mpi/as-it-is.sh" --hostfile hostfile -- sh -c "$command"
expect 69 "kubexec.sh as it is"

run --transport "exec:$work/mpi/kubexec.sh" --hostfile hostfile --prefix '' -- sh -c "$command"
expect 0 "kubexec.sh by --transport"
[ "$(sort out)" = "$want" ] || die "output"
export OMPI_MCA_plm_rsh_agent=$work/mpi/kubexec.sh # all that the operator sets
run --hostfile hostfile --prefix '' -- sh -c "$command"
expect 0 "kubexec.sh by the operator's variable"
[ "$(sort out)" = "$want" ] || die "output"
run --hostfile hostfile -- sh -c '[ $RANK != 2 ] || exit 7'
expect 7 "an exit code through kubectl"
echo 'etjob-worker-9 slots=1' >>hostfile
run --hostfile hostfile -- true
expect 69 "a pod that is not there"
grep -q 'etjob-worker-9: .*pods "etjob-worker-9" not found' err || die "its reason"
echo 'localhost slots=1' >hostfile
run --hostfile hostfile --prefix '' -- sh -c "$command"
expect 0 "the launcher itself needs no kubectl"
wait_for nothing_left
echo "kubexec: all passed"
