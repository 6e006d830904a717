# Sourced by the scripts of this folder: three loopback addresses of one sshd, and `exec_on HOSTS ARGS...`.
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
. "$DS_SOURCE/tests/support/launch.sh"
trap 'sshd_stop "$work/ssh"; clean_up' EXIT
mkdir ssh
sshd_setup "$work/ssh"
port=$(free_port)
sshd_start "$work/ssh" 127.0.2.1 "$port" "ListenAddress 127.0.2.2" "ListenAddress 127.0.2.3" "AcceptEnv DS_TEST_COOKIE" ||
  die "no sshd"
for i in 1 2 3 4; do sshd_know "$work/ssh" "[127.0.2.$i]:$port"; done
printf 'Host *\nPort %s\n' "$port" >>"$work/ssh/ssh_config"

# exec_on HOSTS ARGS...: dslaunch exec -w HOSTS ARGS, over ssh.
exec_on() {
  local hosts=$1
  shift
  run exec --ssh-config "$work/ssh/ssh_config" -w "$hosts" "$@"
}
out_is() { [ "$(cat out)" = "$1" ] || die "$2: standard output"; }
sorted_out_is() { [ "$(sort out)" = "$1" ] || die "$2: standard output"; }
err_is() { [ "$(cat err)" = "$1" ] || die "$2: standard error"; }
