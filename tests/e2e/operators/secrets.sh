#!/usr/bin/env bash
# Tests the ssh Secrets of the operators: every kind of key, mode and owner, as root and as uid 1000, through real OpenSSH
# servers; and host keys: a pod with the Secret's key is known, any other one is not.
# DS_TABLE=FILE also writes what OpenSSH's client says of the same files, as a table.
set -u
[ "$(id -u)" = 0 ] || { echo "SKIP: owners and namespaces need root"; exit 77; }
if [ -z "${DS_INSIDE:-}" ]; then
  unshare --mount --net true 2>/dev/null || { echo "SKIP: this system does not allow namespaces"; exit 77; }
  DS_INSIDE=1 exec unshare --mount --net "$0" "$@"
fi
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
for tool in ip setpriv; do command -v $tool >/dev/null || { echo "SKIP: $tool is not installed"; exit 77; }; done
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/e2e/operators/volumes.sh"
servers=()
stop_servers() {
  local file
  for file in ${servers[@]+"${servers[@]}"}; do [ ! -s "$file" ] || kill "$(cat "$file")" 2>/dev/null; done
  servers=()
}
trap 'stop_servers; umount home/root/.ssh 2>/dev/null; clean_up' EXIT
chmod 755 "$work"
ip link set lo up
mount --make-rprivate /
# Homes of this test's own; both are seen in this namespace alone.
mkdir -p home/root home/mpiuser keys
mkdir .sockets.1000
chown 1000 home/mpiuser .sockets.1000
chmod 700 .sockets.1000
{
  echo "root:x:0:0::$work/home/root:/bin/sh"
  echo "mpiuser:x:1000:1000::$work/home/mpiuser:/bin/sh"
  grep -E '^(sshd|nobody):' /etc/passwd
} >passwd
mount --bind passwd /etc/passwd
mkdir -p /run/sshd
export KUBERNETES_SERVICE_HOST=10.96.0.1 # every container has it
unset SSH_AUTH_SOCK

# as USER COMMAND...: as root, or as uid 1000 with its group alone
as() {
  local user=$1
  shift
  if [ "$user" = root ]; then HOME=$work/home/root "$@"; else
    HOME=$work/home/mpiuser DSLAUNCH_RUNTIME_DIR=$work/.sockets.1000 setpriv --reuid 1000 --regid 1000 --clear-groups "$@"
  fi
}
# serve USER PORT HOSTKEY LINES...: an sshd of that user; a pod's mount is not what StrictModes likes
serve() {
  local user=$1 port=$2 key=$3 config=$work/sshd_config.$2
  shift 3
  {
    printf 'Port %s\nHostKey %s\nPidFile %s\nUsePAM no\nPrintMotd no\nMaxStartups 100\n' "$port" "$key" "$work/run/$port.pid"
    printf '%s\n' "$@"
  } >"$config"
  mkdir -p run && chmod 777 run
  rm -f "run/$port.pid"
  as "$user" /usr/sbin/sshd -De -f "$config" >"$work/run/$port.log" 2>&1 &
  servers+=("$work/run/$port.pid")
  wait_for test -s "run/$port.pid"
}
# secret USER MODE GROUP KEY: the user's ~/.ssh
secret() {
  local home=$work/home/$1
  umount "$home/.ssh" 2>/dev/null
  rm -rf "$home/.ssh"
  mkdir "$home/.ssh"
  volume_write "$home/.ssh" "$2" "$3" "id_rsa=keys/$4" "id_rsa.pub=keys/$4.pub" "authorized_keys=keys/$4.pub"
}
# launch USER ARGS...: dslaunch as that user; over ssh also to this machine
launch() {
  local user=$1
  shift
  rc=0
  as "$user" "$dslaunch" --transport ssh -x KUBERNETES_SERVICE_HOST "$@" >out 2>err </dev/null || rc=$?
}
quiet() { [ ! -s err ] || die "$1: it complains"; }

for key in ec521 rsa1024 rsa2048; do make_key $key keys/$key; done
head -n 1 keys/ec521 | grep -q 'BEGIN EC PRIVATE KEY' || die "the form of the P-521 key"
head -n 1 keys/rsa1024 | grep -q 'BEGIN RSA PRIVATE KEY' || die "the form of the RSA key"
table=${DS_TABLE:-/dev/null}
printf '| key | mode | as | fsGroup | OpenSSH | dslaunch |\n|---|---|---|---|---|---|\n' >"$table"

# Every pod shows the Secret's key; nothing is in known_hosts, and keys are checked strictly.
for key in ec521 rsa1024 rsa2048; do
  stop_servers
  cp keys/$key keys/host && chmod 600 keys/host
  serve root 22 "$work/keys/host" "StrictModes no"
  for user in root mpiuser; do
    for mode in 0400 0600 0640 0644 0755; do
      group=
      [ $user = root ] && [ $mode != 0640 ] || group=1000
      secret $user $mode "$group" $key
      launch $user -H 127.0.0.2:1 -- sh -c 'echo "on $(id -u)"'
      expect 0 "$key with mode $mode as $user"
      quiet "$key with mode $mode as $user"
      [ "$(cat out)" = "on $(as $user id -u)" ] || die "$key with mode $mode as $user: output"
      if [ "$table" != /dev/null ]; then
        said=$(as $user ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR 127.0.0.2 true 2>&1) &&
          said=works || said="refused: $(grep -o 'Permissions [0-9]* .*open\|Permission denied[^.]*' <<<"$said" | sed "s,'[^']*',id_rsa," | head -n 1)"
        echo "| $key | $(stat -Lc %04a "home/$user/.ssh/id_rsa") | $user | ${group:-none} | $said | works |" >>"$table"
      fi
    done
  done
done

# Host keys of the image's own: not known, unless ssh_config says so.
stop_servers
ssh-keygen -q -t ed25519 -N '' -f keys/other
serve root 22 "$work/keys/other" "StrictModes no"
secret root 0600 "" rsa1024
launch root -H 127.0.0.2:1 -- true
expect 69 "a host key of the image's own"
grep -q 'host key ssh-ed25519 SHA256:.* is unknown' err || die "its reason"
printf 'StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n' >config # et-operator's and Volcano's
volume_write home/root/.ssh 0600 "" id_rsa=keys/rsa1024 id_rsa.pub=keys/rsa1024.pub authorized_keys=keys/rsa1024.pub config=config
launch root -H 127.0.0.2:1 -- true
expect 0 "with the operator's ssh_config"
# accept-new where ~/.ssh is a read-only mount: for this run, with a word.
echo 'StrictHostKeyChecking accept-new' >config
volume_write home/root/.ssh 0600 "" id_rsa=keys/rsa1024 id_rsa.pub=keys/rsa1024.pub authorized_keys=keys/rsa1024.pub config=config
mount --bind -o ro home/root/.ssh home/root/.ssh
launch root -H 127.0.0.2:1,127.0.0.3:1 -- true
expect 0 "accept-new over a read-only mount"
[ "$(grep -c 'new host keys are accepted for this run only, because known_hosts cannot be written: .*Read-only file system' err)" = 1 ] || die "its word"
umount home/root/.ssh
# The Secret's key as host key proves nothing where that key does not log in.
stop_servers
serve root 22 "$work/keys/host" "StrictModes no" "AuthorizedKeysFile $work/keys/rsa2048.pub"
rm -rf home/root/.ssh
mkdir home/root/.ssh
volume_write home/root/.ssh 0600 "" id_rsa=keys/rsa2048 authorized_keys=keys/other.pub
launch root -H 127.0.0.2:1 -- true
expect 69 "a key that is not shared"
grep -q 'host key ssh-rsa SHA256:.* is unknown' err || die "its reason"

# et-operator and Volcano mount the Secret's folder .ssh by subPath: files without links, on a read-only mount.
rm -rf home/root/.ssh
mkdir home/root/.ssh volume
volume_write volume 0640 "" .ssh/id_rsa=keys/rsa2048 .ssh/id_rsa.pub=keys/rsa2048.pub .ssh/authorized_keys=keys/rsa2048.pub
mount --bind "$(readlink -f volume/.ssh)" home/root/.ssh
launch root -H 127.0.0.2:1 -- true
expect 69 "0640 on a mount that can be written is a file as any other"
grep -q 'id_rsa is not used: its permissions 0640 let others read it' err || die "its reason"
mount -o remount,bind,ro home/root/.ssh
launch root -H 127.0.0.2:1 -- true
expect 0 "a read-only mount in a pod"
KUBERNETES_SERVICE_HOST='' && unset KUBERNETES_SERVICE_HOST
rc=0
HOME=$work/home/root "$dslaunch" --transport ssh -H 127.0.0.2:1 -- true >out 2>err </dev/null || rc=$?
expect 69 "a read-only mount elsewhere"
umount home/root/.ssh
export KUBERNETES_SERVICE_HOST=10.96.0.1

# Trainer: sshd of uid 1000 on port 2222, whose host key is the Secret's; as root the key's mode would be refused.
stop_servers
secret mpiuser 0640 1000 ec521
serve mpiuser 2222 "$work/home/mpiuser/.ssh/id_rsa" "StrictModes no"
printf '127.0.0.2 slots=1 port=2222\n127.0.0.3 slots=1 port=2222\n' >hosts
launch mpiuser --hostfile hosts -- sh -c 'echo "on $(id -u)"'
expect 0 "Trainer's sshd, the port in the hostfile"
quiet "Trainer's sshd"
printf 'Host 127.0.0.*\n Port 2222\n' >config
launch mpiuser --ssh-config config -H 127.0.0.2:1,127.0.0.3:1 -- true
expect 0 "Trainer's sshd, the port in ssh_config"
# Without fsGroup uid 1000 cannot read root's 0600.
stop_servers
cp keys/ec521 keys/host && chmod 600 keys/host
serve root 2222 "$work/keys/host" "StrictModes no"
secret mpiuser 0600 "" ec521
launch mpiuser --hostfile hosts -- true
expect 69 "a key of root's alone"
grep -q 'id_rsa is not used: it cannot be read as user 1000: it belongs to 0, with permissions 0600 (in a pod, securityContext.fsGroup' err ||
  die "its reason"

# StrictModes yes: the server refuses what kubelet lays down; the reason says who refused.
stop_servers
secret root 0600 "" ec521
serve root 22 "$work/keys/host" "StrictModes yes"
launch root -H 127.0.0.2:1 -- true
expect 69 "StrictModes yes"
grep -q 'authentication refused for user root; tried: .*/.ssh/id_rsa' err || die "its reason"
wait_for nothing_left
echo "operators' secrets: all passed"
