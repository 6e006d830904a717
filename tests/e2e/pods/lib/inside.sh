# Environment of a process in a pod's container: variables, user and capabilities.

# pods_variables POD_FOLDER: sets `variables`: the engine's, the kubelet's for the API service, then those of the pod's spec.
pods_variables() {
  local given home=/root user
  read -r -a user < "$1/user"
  [ "${user[0]}" = 0 ] || home=/
  [ "${user[0]}" != 1000 ] || home=/home/mpiuser
  variables=(
    PATH=/opt/dslaunch/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    "HOSTNAME=$(< "$1/hostname")" "HOME=$home"
    KUBERNETES_SERVICE_HOST=10.96.0.1 KUBERNETES_SERVICE_PORT=443 KUBERNETES_SERVICE_PORT_HTTPS=443
    KUBERNETES_PORT=tcp://10.96.0.1:443 KUBERNETES_PORT_443_TCP=tcp://10.96.0.1:443 KUBERNETES_PORT_443_TCP_PROTO=tcp
    KUBERNETES_PORT_443_TCP_PORT=443 KUBERNETES_PORT_443_TCP_ADDR=10.96.0.1)
  mapfile -d '' given < "$1/variables"
  [ "${given[*]}" = "" ] || variables+=("${given[@]//@POD_IP@/$(pod_ip "$(basename "$1")")}")
}

# pods_privileges POD_FOLDER: sets `privileges`, the options of setpriv.
pods_privileges() {
  local user
  read -r -a user < "$1/user"
  set -- "${user[@]:0:2}" "${user[2]:-}" "$(< "$1/restricted")"
  local kept=chown,dac_override,fowner,fsetid,kill,setgid,setuid,setpcap,net_bind_service,net_raw,sys_chroot,mknod,audit_write,setfcap
  kept=-all,+${kept//,/,+}
  [ -z "$4" ] || kept=-all
  privileges=(--reuid "$1" --regid "$2" --bounding-set "$kept" --inh-caps=-all)
  if [ -n "$3" ]; then privileges+=(--groups "$3"); else privileges+=(--clear-groups); fi
  [ -z "$4" ] || privileges+=(--no-new-privs)
}

# exec NAME COMMAND...: as `kubectl exec`: in its namespaces, with its variables, user and limits; its output is the caller's.
pod_exec() {
  local pod=$PODS/pods/$1 pid variables privileges
  pid=$(pod_pid "$1") || { echo "podctl: pod $1 does not run" >&2; return 1; }
  shift
  [ "$1" != -- ] || shift
  pods_variables "$pod"
  pods_privileges "$pod"
  nsenter -t "$pid" --mount --uts --ipc --net --pid -- setpriv "${privileges[@]}" env -i "${variables[@]}" \
    sh -c 'cd "$1" && shift && exec "$@"' sh "$(< "$pod/workdir")" "$@"
}

# ps NAME: every process in it, PID 1 first: "PID COMMAND LINE" with this machine's numbers.
pod_ps() {
  local first pid space
  first=$(pod_pid "$1") || return 0
  space=$(readlink "/proc/$first/ns/pid")
  for pid in $(ip netns pids "$(< "$PODS/pods/$1/ns")"); do
    [ "$(readlink "/proc/$pid/ns/pid" 2> /dev/null)" = "$space" ] && echo "$pid $(tr '\0' ' ' < "/proc/$pid/cmdline")"
  done | sort -n
}
