#!/usr/bin/env bash
# Tests jobs on nodes with other login shells, start-up files that print, and forced commands. One sshd in a mount
# namespace, with its own password file that has an account for each shell.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
[ "$(id -u)" -eq 0 ] || { echo "SKIP: accounts of other users need root"; exit 77; }
unshare -m mount --bind /etc/passwd /etc/passwd 2> /dev/null ||
  { echo "SKIP: this system does not allow mount namespaces"; exit 77; }
. "$DS_SOURCE/tests/support/launch.sh"
trap 'sshd_stop "$work/ssh"; clean_up' EXIT
chmod 755 "$work"
mkdir ssh home keys here_only
sshd_setup "$work/ssh"
cp "$dslaunch" "$work/dslaunch" # where every user may run it
for file in passwd group shadow; do cp "/etc/$file" "$work/$file"; done

# account NAME SHELL [OPTIONS of its authorized_keys line]: on the next address.
addresses=0
names=()
account() {
  local name=ds$1 id=$((64000 + addresses)) home=$work/home/$1
  echo "$name:x:$id:$id::$home:$2" >>passwd
  echo "$name:x:$id:" >>group
  echo "$name:*:19000:0:99999:7:::" >>shadow
  echo "${3:+$3 }$(cat ssh/client_key.pub)" >"keys/$name"
  mkdir -p "$home/.config/fish"
  for rc in .profile .bashrc .bash_profile .zshenv .zshrc .zprofile .cshrc .tcshrc .login .config/fish/config.fish; do
    printf 'echo "noise of %s"\n' "$rc" >"$home/$rc"
    # csh cannot write to standard error by itself
    case $rc in .cshrc | .tcshrc | .login) ;; *) printf 'echo "noise of %s on stderr" >&2\n' "$rc" >>"$home/$rc" ;; esac
  done
  chown -R "$id:$id" "$home"
  addresses=$((addresses + 1))
  names+=("$1")
  printf '127.0.3.%d port=%s user=%s\n' "$addresses" "$port" "$name" >"hosts.$1"
}
port=$(free_port)
for shell in sh bash dash zsh fish csh tcsh; do
  path=$(command -v "$shell") || { echo "not tested, it is not installed: $shell"; continue; }
  account "$shell" "$path"
done
account evalkey /bin/bash 'command="eval \"$SSH_ORIGINAL_COMMAND\""'
account plainkey /bin/sh 'command="echo a site greets you; exec $SSH_ORIGINAL_COMMAND"'
account shkey "$(command -v csh || echo /bin/sh)" 'command="/bin/sh -c \"$SSH_ORIGINAL_COMMAND\""'
account forced /bin/bash
account chatty /bin/bash
echo 'head -c 300000 /dev/zero | tr "\0" x' >>home/chatty/.bashrc
for name in "${names[@]}"; do cat "hosts.$name"; done >all
grep -v plainkey all >quoted # a command that is cut at blanks has no quotes left
account deaf /bin/sh 'command="echo only backups here"'
account nologin /usr/sbin/nologin

echo "Welcome to this site" >motd
cat >start_sshd <<END
#!/bin/sh
for file in passwd group shadow; do mount --bind "$work/\$file" "/etc/\$file" || exit 1; done
mount -t tmpfs none "$work/here_only" || exit 1
exec /usr/sbin/sshd -f "$work/ssh/sshd_config" -E "$work/ssh/sshd.log"
END
chmod 755 start_sshd
printf '#!/bin/sh\necho forced by the site\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n' >forced_command
chmod 755 forced_command
addresses_line=()
for ((i = 2; i <= addresses; i++)); do addresses_line+=("ListenAddress 127.0.3.$i"); done
SSHD_START="unshare -m $work/start_sshd" sshd_start "$work/ssh" 127.0.3.1 "$port" "${addresses_line[@]}" \
  "AuthorizedKeysFile $work/keys/%u" "PrintMotd yes" "Banner $work/motd" "SetEnv SHLVL=0" || die "no sshd"
# A Match block ends the file.
printf 'Match User dsforced\n  ForceCommand %s\n' "$work/forced_command" >>ssh/sshd_config
sshd_stop "$work/ssh"
wait_for bash -c "! (exec 3<>/dev/tcp/127.0.3.1/$port) 2>/dev/null"
unshare -m "$work/start_sshd" || die "no sshd"
wait_for files_there ssh/sshd.pid
sshd_know "$work/ssh" "[127.0.3.*]:$port"
job() {
  local hosts=$1
  shift
  run --ssh-config "$work/ssh/ssh_config" --hostfile "$hosts" --agent-path "$agent_path" --wdir / "$@"
}

# By the first, plain command; and by the line for /bin/sh, where the path is nothing that all shells take alike.
mkdir "odd 'path' !x"
cp dslaunch "odd 'path' !x/dslaunch"
for agent_path in "$work/dslaunch" "$work/odd 'path' !x/dslaunch"; do
  case $agent_path in *odd*) hosts=quoted ;; *) hosts=all ;; esac
  job $hosts -- sh -c 'echo "ok $(id -un) $RANK"; echo "words of $RANK" >&2'
  expect 0 "a job on all shells, by $agent_path"
  [ "$(sed 's/^\[[0-9]*\] //' out | sort)" = \
    "$(i=0; for name in $(sed 's/.*user=//' $hosts); do echo "ok $name $i"; i=$((i + 1)); done | sort)" ] ||
    die "output of all shells, and nothing else"
  grep -v '^\[[0-9]*\] words of [0-9]*$' err && die "noise on standard error"
  [ $hosts = all ] || break
  for name in "${names[@]}"; do
    case $name in deaf | nologin) continue ;; esac
    job "hosts.$name" -- sh -c 'exit 7'
    expect 7 "the exit code from $name"
  done
done

# Accounts where there is no dslaunch get one each, into their own folders; then they have one.
cp dslaunch here_only/dslaunch
dslaunch=$work/here_only/dslaunch
copies() { find home -path '*/.cache/dslaunch/*/dslaunch' | sort; }
for time in first second; do
  run --ssh-config "$work/ssh/ssh_config" --hostfile quoted --wdir / -- sh -c 'echo "ok $(id -un) $RANK"'
  expect 0 "a job on accounts without dslaunch, the $time time"
  [ "$(grep -c '^\[[0-9]*\] ok ' out)" = "$(wc -l < quoted)" ] || die "not all of them"
  [ "$time" = first ] || [ ! -s err ] || die "something is said though they have it"
  copies > "copies.$time"
done
[ "$(wc -l < copies.first)" = "$(wc -l < quoted)" ] || die "not one copy each: $(cat copies.first)"
cmp -s copies.first copies.second || die "copied again"
while read -r copy; do
  cmp -s "$copy" "$dslaunch" || die "$copy is another program"
  [ "$(stat -c %a "$copy")" = 700 ] || die "$copy is for others, too"
done < copies.first
dslaunch=$work/dslaunch

# A node that runs something else instead is named with what it said.
agent_path=$work/dslaunch
job hosts.deaf -- true
expect 69 "a forced command that starts no agent"
grep -q 'dslaunch: 127.0.3.*another program ran instead.*(it said: only backups here).*(stage: agent start)' err ||
  die "its reason"
job hosts.nologin -- true
expect 69 "an account that may not log in"
grep -q 'dslaunch: 127.0.3.*no agent could be started there.*(it said: This account is currently not available' err ||
  die "its reason"

# %u is the user of the login, whether a hostfile, an address with @, or ssh_config names the user. The shell of this account prints first.
as_user() { # HOW CONFIG HOSTS...
  local how=$1 config=$2
  shift 2
  run exec --ssh-config "$config" --agent-path "$work/dslaunch" -N "$@" -- echo "%u is \$(id -un)"
  expect 0 "%u, $how"
  [ "$(tail -n 1 out)" = "dsbash is dsbash" ] || die "%u, $how"
}
address=$(sed 's/ .*//' hosts.bash)
as_user "from the hostfile" "$work/ssh/ssh_config" --hostfile hosts.bash
{ cat ssh/ssh_config && printf 'Host *\n  Port %s\n' "$port"; } >port_config
as_user "before an @" port_config -w "dsbash@$address"
{ cat port_config && printf '  User dsbash\n'; } >user_config
as_user "from ssh_config" user_config -w "$address"
echo "ssh shells: all passed for ${names[*]}"
