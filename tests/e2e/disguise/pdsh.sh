#!/usr/bin/env bash
# Tests dslaunch under the names pdsh, pdcp, rpdcp and dshbak without the real programs: translation, exit codes, interrupts, the prompt.
# same_as_pdsh.sh compares the output with theirs.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
mkdir bin
for name in pdsh pdcp rpdcp dshbak; do
  ln -s "$dslaunch" "bin/$name"
  "bin/$name" --help | grep -q "^dslaunch as $name: " || die "$name --help"
done
unset WCOLL FANOUT DSHPATH PDSH_RCMD_TYPE PDSH_SSH_ARGS PDSH_SSH_ARGS_APPEND
me=pdsh@$(hostname | cut -d. -f1)

bin/pdsh -V >out && grep -q '^rcmd modules: ssh,exec' out || die '-V'
[ "$(head -n 1 out)" = "pdsh: $("$dslaunch" --version)" ] || die '-V: the version'
run as --print pdsh -S -f 4 -u 20 -w 'n[1-3],ann@n4' -x n2 'uname -r'
expect 0 'as --print'
[ "$(cat out)" = "dslaunch exec --style pdsh -n --leave -f 4 -u 20 -S -w 'n[1,3],ann@n4' -- 'uname -r'" ] || die 'as --print'
run as --print dshbak -c
expect 64 'dshbak has no equivalent'
run as --print pdcp -r -f 4 -u 20 -w 'n[1-3],ann@n4' -x n2 'a b' /tmp
expect 0 'as --print pdcp'
[ "$(cat out)" = "dslaunch copy -r -u 20 -w 'n[1,3],ann@n4' 'a b' /tmp" ] || die 'as --print pdcp'
grep -qx 'dslaunch: as pdcp: -f has no effect: all nodes at the same time; see --fanout of dslaunch copy' err || die 'pdcp -f'
run as --print rpdcp -p -w n1 log .
[ "$(cat out)" = 'dslaunch rcopy -p -w n1 log .' ] || die 'as --print rpdcp'
bin/pdcp -w n1 missing /tmp >out 2>err
[ $? = 65 ] && grep -q '^dslaunch: cannot copy missing: No such file or directory' err || die 'pdcp runs copy'
bin/rpdcp -w n1 -V >out 2>err && grep -q '^rpdcp: dslaunch ' out || die 'rpdcp -V'
for words in 'pdcp -w n1 x' 'pdcp -R exec -w n1 x y' 'rpdcp -q -w n1 x y' 'pdsh x' 'pdsh -w' 'pdsh -R rsh -w a x' 'pdsh -y x' 'pdsh -w a[1 x' 'dshbak -c -d x' 'dshbak -f'; do
  # shellcheck disable=SC2086
  run as $words
  expect 64 "$words"
  [ "$(grep -c '^dslaunch: ' err)" = 1 ] || die "$words: not one line"
done
run as pdsh -w ^missing x
expect 65 'a file that is missing'

# Each of 3 commands ends in its own way.
bin/pdsh -R exec -S -w 'a[0-2].x.org' sh -c 'echo "%h %n"; [ %n != 2 ] || kill -9 $$; exit %n' >out 2>err
[ $? = 137 ] || die '-S'
[ "$(sort out)" = "$(printf 'a0: a0.x.org 0\na1: a1.x.org 1\na2: a2.x.org 2')" ] || die 'lines'
[ "$(sort err)" = "$(printf '%s: a1: sh exited with exit code 1\n%s: a2: sh killed by signal 9' "$me" "$me")" ] || die 'messages'
bin/pdsh -R exec -w a nothing-here >out 2>err || die 'without -S the exit code is 0'
[ "$(cat err)" = "$(printf 'a: %s: execvp nothing-here failed: No such file or directory\n%s: a: nothing-here exited with exit code 255' "$me" "$me")" ] ||
  die 'a program that does not exist'

# -k ends the others.
timeout 30 bin/pdsh -R exec -k -w 'a[0-2]' sh -c '[ %n = 1 ] && exit 5; exec sleep 100' >out 2>err
[ $? = 1 ] || die '-k'
[ "$(cat err)" = "$(printf '%s: a1: sh exited with exit code 5\n%s: terminating all processes' "$me" "$me")" ] || die '-k: messages'

# Ctrl-C lists, Ctrl-Z gives up what has not begun, Ctrl-C twice ends.
start() {
  : >out # or the lines of the command before are taken for its own, and the signal comes before it listens
  bin/pdsh -R exec -d -f 2 "$@" -w 'a[1-3]' sh -c 'echo %h; exec sleep 100' >out 2>err </dev/null &
  launcher=$!
  two() { [ "$(wc -l <out)" = 2 ]; }
  wait_for two
}
start
kill -INT "$launcher"
wait_for grep -q 'a3: \[new\]' err
grep -q "^$me: a1: command in progress$" err || die 'the hosts are listed'
for ((i = 0; i < 10; i++)); do # on a busy machine TSTP may come too late, and stop it
  kill -TSTP "$launcher"
  sleep 0.2
  kill -CONT "$launcher"
  grep -q "^$me: Canceled 1 pending threads.$" err && break
  sleep 1.2
  kill -INT "$launcher"
done
[ $i -lt 10 ] || die 'TSTP after INT'
kill -TERM "$launcher"
kill -CONT "$launcher" # a TSTP that it read late may have stopped it again
wait "$launcher"
[ $? = 143 ] || die 'TERM'
start -b
kill -INT "$launcher"
wait "$launcher"
[ $? = 1 ] || die 'an interrupt with -b'
grep -q "^$me: batch mode interrupt, aborting.$" err || die 'an interrupt with -b: message'
launcher=

# The prompt: one command a line, also after a failure.
printf 'echo %%h\n\n!echo here\nexit 3\nquit\necho no\n' | bin/pdsh -R exec -f 1 -w a,b >out 2>err || die 'the prompt'
[ "$(cat out)" = "$(printf 'pdsh> a: a\nb: b\npdsh> pdsh> here\npdsh> pdsh> ')" ] || die 'the prompt: output'
[ "$(cat err)" = "$(printf '%s: a: sh exited with exit code 3\n%s: b: sh exited with exit code 3' "$me" "$me")" ] || die 'the prompt: messages'

# A file that is longer than a buffer: each of its lines once.
seq 1 600 | sed 's/$/ 0123456789/; s/^/!true /; 300s/^!true/echo/' >many
timeout 60 bin/pdsh -R exec -N -w a <many >out 2>err || die 'the prompt: a long file'
[ "$(grep -c '300 0123456789' out)" = 1 ] || die 'the prompt: a long file is read once'

# Groups as targets.
printf 'g[1-3]\n' >group
DSHGROUP_PATH=$work bin/pdsh -Q -w '@group!g2,-@none' >out 2>err
grep -q 'no group .none' err || die 'an unknown group in -w'
DSHGROUP_PATH=$work bin/pdsh -Q -w '@group!g2,x' >out 2>err && tail -n 1 out | grep -qx 'g1,g3,x' || die 'groups in -w'

# dshbak: a file for each host; no file outside of the folder.
printf 'n1: a\nn2: b\nn1: c\n' >lines
bin/dshbak -d files -f lines && [ "$(cat files/n1 files/n2)" = "$(printf 'a\nc\nb')" ] || die 'dshbak -d'
printf '../n1: x\n' | bin/dshbak -d files >out 2>err
[ $? = 65 ] && [ ! -e n1 ] || die 'dshbak: a host with a slash'
bin/dshbak -d none <lines >out 2>err
[ $? = 65 ] || die 'dshbak: a folder that does not exist'
bin/dshbak missing >out 2>err
[ $? = 65 ] || die 'dshbak: a file that does not exist'
bin/dshbak -c <lines | head -1 | grep -q '^----------------$' || die 'dshbak -c'
