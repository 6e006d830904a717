#!/usr/bin/env bash
# Tests keys with a pass phrase, which is asked for once for each key, by SSH_ASKPASS or at the terminal, and never in
# batch mode. Also tests the commands of Match exec.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
. "$DS_SOURCE/tests/support/launch.sh"
trap 'sshd_stop "$work/ssh"; [ -z "${SSH_AGENT_PID:-}" ] || kill "$SSH_AGENT_PID"; clean_up' EXIT
unset SSH_AUTH_SOCK SSH_ASKPASS SSH_ASKPASS_REQUIRE DISPLAY WAYLAND_DISPLAY
mkdir ssh
sshd_setup "$work/ssh"
port=$(free_port)
sshd_start "$work/ssh" 127.0.0.2 "$port" "ListenAddress 127.0.0.3" "ListenAddress 127.0.0.4" || die "no sshd"
sshd_know "$work/ssh" "[127.0.0.*]:$port"
printf '127.0.0.[2-4] port=%s\n' "$port" >hosts
secret='open "sesame" $x'
ssh-keygen -q -p -P '' -N "$secret" -f ssh/client_key >/dev/null
rm ssh/client_key.pub # the key's own file has its public half
printf '%s\n' "$secret" >answer
cat >ask <<'END'
#!/bin/sh
# The first answers are in the file wrong, one a line.
echo "$*" >>"$WORK/asked"
read -r line <"$WORK/wrong" && { sed -i 1d "$WORK/wrong"; echo "$line"; exit; }
cat "$WORK/answer"
END
chmod 755 ask
export WORK="$work"
# job: on all hosts, without a terminal
job() {
  : >asked
  rc=0
  setsid "$dslaunch" --ssh-config "$work/ssh/ssh_config" --hostfile hosts "$@" -- sh -c 'exit 3' >out 2>err </dev/null || rc=$?
  grep -qF sesame out err && die "the pass phrase is shown"
}
asked() { [ "$(wc -l <asked)" = "$1" ] || die "asked $(wc -l <asked) times, not $1"; }

job
expect 69 "nobody can be asked"
grep -q "client_key is encrypted, and nobody can be asked (no terminal, and no SSH_ASKPASS that may be used): .ssh-add. it" err ||
  die "the reason"
export SSH_ASKPASS="$work/ask"
: >wrong
job
expect 69 "SSH_ASKPASS without a display is not for us, as with ssh"
asked 0
export DISPLAY=:nowhere
job
expect 3 "SSH_ASKPASS"
asked 1
[ "$(cat asked)" = "Enter passphrase for key '$work/ssh/client_key': " ] || die "the question: $(cat asked)"
unset DISPLAY
export SSH_ASKPASS_REQUIRE=force
printf 'no\nneither\n' >wrong
job
expect 3 "two wrong answers"
asked 3
[ "$(tail -n 1 asked)" = "Bad passphrase, try again for key '$work/ssh/client_key': " ] || die "asking again"
printf 'no\nneither\nnor\n' >wrong
job
expect 69 "three wrong answers"
asked 3
grep -q "client_key is encrypted, and its pass phrase was not given" err || die "the reason"
: >wrong
sed -i '1i BatchMode yes' ssh/ssh_config
job
expect 69 "BatchMode"
asked 0
grep -q "client_key is encrypted, and BatchMode is yes: .ssh-add. it" err || die "the reason of BatchMode"
sed -i 1d ssh/ssh_config
# libssh cannot open these: nobody is asked in vain.
cp ssh/client_key plain_key
for cipher in aes256-gcm@openssh.com chacha20-poly1305@openssh.com; do
  ssh-keygen -q -p -P "$secret" -N "$secret" -Z $cipher -f ssh/client_key >/dev/null
  job
  expect 69 "a key encrypted by $cipher"
  asked 0
  grep -q "client_key is encrypted by $cipher, which only an agent opens: .ssh-add. it, or" err || die "the reason: $cipher"
done
cp plain_key ssh/client_key
eval "$(ssh-agent -s -a "$work/agent")" >/dev/null
ssh-add -q ssh/client_key </dev/null 2>/dev/null || die "ssh-add"
job
expect 3 "the agent has it"
asked 0
unset SSH_AUTH_SOCK
SSH_ASKPASS_REQUIRE=never job
expect 69 "SSH_ASKPASS_REQUIRE=never"
asked 0
unset SSH_ASKPASS SSH_ASKPASS_REQUIRE

# A terminal: what is typed is not shown, and the terminal is as before.
if command -v script >/dev/null; then
  mkfifo keyboard
  # typed LINE: at the question of a job in a terminal of its own; exit code to rc, what is on the screen to screen
  typed() {
    : >screen
    # Programs that bash puts in the background ignore Ctrl-C.
    env --default-signal=INT script -qefc "trap : INT; $dslaunch --ssh-config $work/ssh/ssh_config --hostfile hosts -- sh -c 'exit 4'; rc=\$?; stty -a | grep -o '[-]*echo ' >echo; exit \$rc" screen \
      <keyboard >/dev/null 2>&1 &
    local terminal=$!
    exec 5>keyboard
    wait_for grep -q "Enter passphrase for key" screen
    printf "$1" >&5
    rc=0
    wait "$terminal" || rc=$?
    exec 5>&-
  }
  typed "$(printf '%s' "$secret" | sed 's/%/%%/g')\n"
  expect 4 "typed at the terminal"
  grep -qF sesame screen && die "what is typed is shown"
  [ "$(cat echo)" = "echo " ] || die "the terminal's echo afterwards: $(cat echo)"
  typed '\003'
  expect 130 "Ctrl-C at the question"
  [ "$(cat echo)" = "echo " ] || die "the terminal's echo after Ctrl-C: $(cat echo)"
else
  echo "not tested, it is not installed: script"
fi

# Match exec: by the user's shell, once for each command, and not for ever.
ssh-keygen -q -p -P "$secret" -N '' -f ssh/client_key >/dev/null
cp ssh/ssh_config plain
sed 's/^IdentityFile.*//' plain >ssh/ssh_config
cat >>ssh/ssh_config <<END
Match exec "echo ran %n >>$work/ran; [ %n = 127.0.0.2 ] || [ %n = 127.0.0.3 ]"
  IdentityFile $work/ssh/client_key
Match exec "echo ran always >>$work/ran; exit 1"
  User nobody-has-this-name
Match originalhost 127.0.0.4
  IdentityFile $work/ssh/client_key
END
job
expect 3 "Match exec"
[ "$(sort ran)" = "ran 127.0.0.2
ran 127.0.0.3
ran 127.0.0.4
ran always" ] || die "the commands of Match exec: $(cat ran)"
{ cat plain; printf 'Match originalhost 127.0.0.3 exec "sleep 60"\n  User nobody\n'; } >ssh/ssh_config
job
expect 69 "a command that does not end"
grep -q "^dslaunch: 127.0.0.3: Match exec: 'sleep 60' did not end within 5 s.*(stage: configuration)" err || die "its reason"
kill "$SSH_AGENT_PID"
SSH_AGENT_PID=
wait_for nothing_left
echo "ssh keys: all passed"
