#!/usr/bin/env bash
# `dslaunch k8s run` and `delete` with a kubectl of this script: a cluster as a folder of files. What is applied, shown and
# removed, in which order, and the exit codes.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
mkdir bin cluster
cat >bin/kubectl <<'END'
#!/usr/bin/env bash
# The cluster is $CLUSTER: job (the main object), pods, events, secret, logs.POD; refuse.VERB makes VERB fail with its text.
cd "$CLUSTER" || exit 1
words=" $* "
[ "$1" != -n ] || shift 2
echo "$*" >>calls
[ ! -e "refuse.$1" ] || { cat "refuse.$1" >&2; exit 1; }
case $words in
*" apply "*) cat >applied; [ ! -e on_apply ] || . ./on_apply; echo "job.batch/gpt created" ;;
*" get jobs.batch "* | *" get mpijobs.kubeflow.org "*) [ ! -e job ] || cat job ;;
*" get pods "*) cat pods 2>/dev/null || echo '{"items":[]}' ;;
*" get events "*) cat events 2>/dev/null || echo '{"items":[]}' ;;
*" get secrets "*) [ ! -e secret ] || cat secret ;;
*" get services,configmaps,secrets "*) echo service/gpt; echo secret/gpt-token ;;
*" logs "*) cat "logs.${!#}"; . "./after.${!#}" ;;
esac
END
chmod +x bin/kubectl
export PATH="$work/bin:$PATH" CLUSTER="$work/cluster"
unset DSLAUNCH_TOKEN
object() { printf '{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"gpt","uid":"7"},"status":{"conditions":[%s]}}\n' "$1"; }
pod() { # NAME CREATED STATE
  printf '{"metadata":{"name":"%s","uid":"%s","creationTimestamp":"%s","labels":{"batch.kubernetes.io/job-completion-index":"0"}},"status":{"containerStatuses":[{"state":{%s}}]}}' "$1" "$1" "$2" "$3"
}
pods() { local IFS=,; printf '{"items":[%s]}\n' "$*"; }
declare -f object pod pods >cluster/functions
words=(--kind indexed --name gpt --nodes 2 --cpu 1 --image example/dslaunch:1)
fresh() { rm -rf cluster/[a-eg-z]* ; }

# A pod is replaced once; the job ends well.
cat >cluster/on_apply <<'END'
. ./functions
object >job
pods "$(pod gpt-0-a 1 '"running":{}')" >pods
END
echo 'step 1' >cluster/logs.gpt-0-a
echo 'step 2' >cluster/logs.gpt-0-b
cat >cluster/after.gpt-0-a <<'END'
. ./functions
pods "$(pod gpt-0-a 1 '"terminated":{"exitCode":143}')" "$(pod gpt-0-b 2 '"running":{}')" >pods
END
cat >cluster/after.gpt-0-b <<'END'
. ./functions
pods "$(pod gpt-0-b 2 '"terminated":{"exitCode":0}')" >pods
object '{"type":"Complete","status":"True"}' >job
END
run k8s run "${words[@]}" -- train
expect 0 "a job that ends well"
[ "$(cat out)" = $'step 1\nstep 2' ] || die "the output of both root pods"
grep -q 'kind: Secret' cluster/applied || die "a Secret is made where there is none"
grep -q '^delete services,configmaps,secrets -l dslaunch.io/job=gpt' cluster/calls || die "leftovers are removed first"
grep -q '^patch secret/gpt-token .*"uid":"7"' cluster/calls || die "the Secret belongs to the job"

# kubectl logs ends while the pod runs on: it is called again, for what came since.
fresh
printf '. ./functions\nobject >job\npods "$(pod gpt-0-a 1 '"'"'"running":{}'"'"')" >pods\n' >cluster/on_apply
echo 'step 3' >cluster/logs.gpt-0-a
cat >cluster/after.gpt-0-a <<'END'
. ./functions
echo 'step 4' >logs.gpt-0-a
[ ! -e broken ] || pods "$(pod gpt-0-a 1 '"terminated":{"exitCode":0}')" >pods
[ ! -e broken ] || object '{"type":"Complete","status":"True"}' >job
: >broken
END
run k8s run "${words[@]}" -- train
expect 0 "output that breaks off"
[ "$(cat out)" = $'step 3\nstep 4' ] || die "the output after a break: $(cat out)"
[ "$(grep '^logs' cluster/calls | sed "s/since=[0-9]*s/since=Ns/")" = $'logs -f --tail=-1 gpt-0-a\nlogs -f --tail=-1 --since=Ns gpt-0-a' ] ||
  die "the calls of kubectl logs: $(grep '^logs' cluster/calls)"
grep -q 'kubectl logs has ended, but gpt-0-a is running' err || die "a line about the break"

# The same name again: refused, and nothing is touched.
: >cluster/calls
run k8s run "${words[@]}" -- train
expect 65 "a job that is there"
grep -q 'is in the cluster already' err && grep -q 'dslaunch k8s delete' err || die "what to do about it"
! grep -qE '^(apply|delete|patch)' cluster/calls || die "a refused job changed the cluster"

# The code of the root pod is that of run.
fresh
cat >cluster/on_apply <<'END'
. ./functions
object '{"type":"Failed","status":"True","reason":"PodFailurePolicy","message":"exit code 65"}' >job
pods "$(pod gpt-0-a 1 '"terminated":{"exitCode":65}')" >pods
END
echo bad >cluster/logs.gpt-0-a
: >cluster/after.gpt-0-a
echo secret/gpt-token >cluster/secret
run k8s run "${words[@]}" --namespace ml -- train
expect 65 "a job that fails"
last_line_is 'dslaunch: gpt has failed: PodFailurePolicy: exit code 65'
! grep -q 'kind: Secret' cluster/applied || die "the Secret that is there is used"

# An operator that starts its launcher again in vain: run ends with the code, and suspends the job.
fresh
cat >cluster/on_apply <<'END'
. ./functions
object >job
pods "$(pod gpt-launcher-a 1 '"terminated":{"exitCode":65}')" >pods
END
echo bad >cluster/logs.gpt-launcher-a
: >cluster/after.gpt-launcher-a
run k8s run --kind mpijob "${words[@]:2}" -- train
expect 65 "a launcher that fails for good"
last_line_is 'dslaunch: the MPIJob is suspended; dslaunch k8s delete removes it'
grep -q '^patch mpijobs.kubeflow.org gpt .*"suspend":true' cluster/calls || die "the operator goes on"

# A pod that no node takes is named while the output of the root is shown.
fresh
cat >cluster/on_apply <<'END'
. ./functions
object >job
unplaced='{"metadata":{"name":"gpt-1-b"},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","message":"1 Insufficient cpu"}]}}'
pods "$(pod gpt-0-a 1 '"running":{}')" "$unplaced" >pods
END
echo 'sleep 12; . ./functions; pods "$(pod gpt-0-a 1 '"'"'"terminated":{"exitCode":69}'"'"')" >pods
object '"'"'{"type":"Failed","status":"True"}'"'"' >job' >cluster/after.gpt-0-a
: >cluster/logs.gpt-0-a
run k8s run "${words[@]}" -- train
expect 69 "a job that has not enough room"
grep -q 'gpt: no node takes 1 of 1 pod: gpt-1-b: 1 Insufficient cpu' err && grep -q 'hint: .*--gang' err || die "which pod has no node"

# Words of the API server are shown as they are, with what to change.
fresh
echo 'Error from server (Forbidden): pods "gpt" is forbidden: violates PodSecurity "restricted:latest"' >cluster/refuse.apply
run k8s run "${words[@]}" --run-as-root -- train
expect 65 "a refused manifest"
grep -qF 'violates PodSecurity "restricted:latest"' err && grep -q 'hint: leave out --run-as-root' err || die "the refusal and its advice"

# No pod comes: the newest warning says why, until --wait is over.
fresh
printf '. ./functions\nobject >job\n' >cluster/on_apply
echo '{"items":[{"involvedObject":{"name":"gpt"},"lastTimestamp":"1","reason":"FailedCreate","message":"failed quota: q: must specify limits.memory"}]}' >cluster/events
run k8s run "${words[@]}" --wait 7 -- train
expect 124 "a job that does not start"
grep -q 'must specify limits.memory' err && grep -q 'hint: .*--memory' err || die "why it does not start"

# Deleted meanwhile, and kinds whose pods never end.
fresh
: >cluster/on_apply
run k8s run "${words[@]}" -- train
expect 143 "a job that was deleted"
run k8s run --kind lws --image i -- train
expect 64 "a kind whose pods never end"

fresh
run k8s delete --kind jobset --name gpt --namespace ml
expect 0 "delete"
grep -qx 'delete jobsets.jobset.x-k8s.io,services,configmaps,secrets -l dslaunch.io/job=gpt --ignore-not-found --timeout=300s' cluster/calls || die "one call deletes all of a job"
run k8s delete --kind jobset --name gpt train.toml
expect 64 "delete with a file"
PATH=/nowhere run k8s delete --kind jobset --name gpt
expect 65 "no kubectl"
echo OK
