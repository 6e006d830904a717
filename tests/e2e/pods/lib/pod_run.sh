# Runs the container of a pod in its namespaces and records how it ended. Usage: pod_run.sh POD_FOLDER
set -u
pod=$1
lib=$(dirname "$0")
# The first child of a shell whose children go to a new pid namespace is PID 1 there; that shell may start nothing else,
# and its wait tells exit codes and signals apart (`unshare --fork` 2.38 makes 1 of every signal).
export pod lib
nsenter --net="/run/netns/$(< "$pod/ns")" unshare --pid bash -c '
  unshare --mount --uts --ipc --propagation private bash "$lib/pod_init.sh" "$pod" > "$pod/log" 2>&1 < /dev/null &
  echo $! > "$pod/pid"
  wait $! 2> /dev/null
  echo $? > "$pod/exit.new"' 2> /dev/null
[ -e "$pod/exit.new" ] || echo 137 > "$pod/exit.new" # that shell was killed too: the network was taken down
mv "$pod/exit.new" "$pod/exit"
