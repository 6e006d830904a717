# PID 1 of a pod in its new namespaces: creates its file system, then becomes its command. Usage: pod_init.sh POD_FOLDER
# Read as a whole before anything runs: the folder of this script is not in the pod.
set -eu

make_root() {
  local item
  mount -t tmpfs -o mode=755 pod "$root"
  cd "$root"
  mkdir -m 755 usr etc dev dev/shm dev/pts proc sys run run/lock var home home/mpiuser mnt opt opt/dslaunch opt/dslaunch/bin srv
  mkdir -m 700 root
  mkdir -m 1777 tmp var/tmp
  for item in bin sbin lib lib32 lib64 libx32; do
    [ ! -L "/$item" ] || ln -s "usr/$item" "$item"
    [ -L "/$item" ] || [ ! -d "/$item" ] || { mkdir "$item"; mount --rbind "/$item" "$item"; }
  done
  mount --bind /usr usr
  mount -o remount,bind,ro usr
  cp -a "$image/etc/." etc/
  cp "$pod/resolv.conf" etc/resolv.conf
  cp "$pod/hosts" etc/hosts
  cp "$pod/hostname_file" etc/hostname
  chmod 644 etc/resolv.conf etc/hosts etc/hostname
  chown 1000:1000 home/mpiuser
  mount --bind "$bin" opt/dslaunch/bin
  mount -t proc proc proc
  mount -t sysfs -o ro sysfs sys
  [ ! -d /sys/fs/cgroup ] || mount --rbind /sys/fs/cgroup sys/fs/cgroup
  mount -t tmpfs -o mode=755 dev dev
  mkdir -m 755 dev/pts
  mkdir -m 1777 dev/shm
  for item in null zero full random urandom tty; do
    : > "dev/$item"
    mount --bind "/dev/$item" "dev/$item"
  done
  mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
  ln -s pts/ptmx dev/ptmx
  ln -s /proc/self/fd dev/fd
  ln -s fd/0 dev/stdin
  ln -s fd/1 dev/stdout
  ln -s fd/2 dev/stderr
  mount -t tmpfs -o mode=1777,size=64m shm dev/shm
  : > dev/termination-log
  mount --bind "$pod/termination-log" dev/termination-log
}

make_mounts() {
  local kind path source mode group
  group=$(< "$pod/group")
  while IFS=$'\t' read -r kind path source mode; do
    case $kind in
      bind | robind)
        if [ -d "$source" ]; then mkdir -p ".$path"; else mkdir -p "$(dirname ".$path")"; [ -e ".$path" ] || : > ".$path"; fi
        mount --bind "$source" ".$path"
        [ "$kind" = bind ] || mount -o remount,bind,ro ".$path"
        ;;
      volume)
        mkdir -p ".$path"
        if [ ! -e "$pod/volumes$path" ]; then pods_volume "$pod/volumes$path" "$source" "$mode" "$group"; fi
        mount --bind "$pod/volumes$path" ".$path"
        mount -o remount,bind,ro ".$path"
        ;;
      file)
        mkdir -p "$(dirname ".$path")"
        install -m "${mode%%:*}" "$source" ".$path"
        [ "${mode#*:}" = "$mode" ] || chown "${mode#*:}" ".$path"
        ;;
      tmpfs)
        mkdir -p ".$path"
        mount -t tmpfs -o mode=1777 tmpfs ".$path"
        ;;
    esac
  done < "$pod/mounts"
}

main() {
  pod=$1
  image=$PODS_IMAGE
  bin=$(realpath "$DS_BIN")
  root=$pod/root
  . "$(dirname "$0")/files.sh"
  . "$(dirname "$0")/inside.sh"
  . "$(dirname "$0")/pod.sh"
  mkdir -p "$root"
  hostname "$(< "$pod/hostname")"
  make_root
  make_mounts
  local command variables restricted workdir
  mapfile -d '' command < "$pod/command"
  pods_variables "$pod" # sets variables
  pods_privileges "$pod" # sets privileges
  restricted=$(< "$pod/restricted")
  workdir=$(< "$pod/workdir")
  exec 3> "$pod/running"
  cd "$root"
  pivot_root . .
  umount -l .
  [ -z "$restricted" ] || mount -o remount,ro pod /
  cd "$workdir"
  exec 3>&-
  # A restart policy, a probe or a person may signal at once: from here on the command is PID 1.
  exec setpriv "${privileges[@]}" env -i "${variables[@]}" "${command[@]}"
}
main "$@"
