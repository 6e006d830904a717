#!/usr/bin/env bash
# Compares dslaunch under the names pdsh and dshbak with the real programs, byte by byte, on hosts in network namespaces
# and with -R exec.
#   same_as_pdsh.sh --table    also prints the rows of same_as_pdsh_results.md
# Lines are compared host by host, in the order of each host. Left out are pdsh's lines "sending ... to ...", which
# are about processes of ssh.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
command -v pdsh > /dev/null || { echo "SKIP: pdsh is not installed (scripts/install_packages.sh test)"; exit 77; }
table=${1:-}
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/theirs" "$dir/ours"
for name in pdsh dshbak; do ln -s "$DS_BIN/dslaunch" "$dir/bin/$name"; done
failures=0
compared=0
report() { # EQUAL WORDS...
  local equal=$1
  shift
  compared=$((compared + 1))
  [ "$table" = --table ] && echo "| \`$(printf '%s' "$*" | sed "s|$dir/||g; s/|/\\\\|/g" | tr '\n' ';')\` | $equal |"
  [ "$equal" = equal ] && return
  failures=$((failures + 1))
  echo "FAIL: $*"
  diff "$dir/theirs/all" "$dir/ours/all" | head -20 | sed 's/^/    /'
}
# Puts lines in the order of the hosts that they are about. The lines of a host keep their order.
by_host() {
  awk -F': ' '{ print ($1 ~ /^pdsh@/ ? $2 : $1) "\t" $0 }' | sort -s -t"$(printf '\t')" -k1,1 | cut -f 2-
}
# Runs both with the same words and the same standard input (the file $input), on the head. `filter` changes what each printed.
input=/dev/null
order=by_host
filter=cat
run_side() { # SIDE WORDS...
  local side=$1 program=pdsh
  shift
  [ "$side" = theirs ] || program=$dir/bin/pdsh
  cd "$dir" && $prefix timeout 30 "$program" "$@" < "$input" > "$side/out" 2> "$side/err"
  echo "exit $?" > "$side/code"
}
same_pdsh() {
  local side
  (run_side theirs "$@") &
  (run_side ours "$@")
  wait $!
  for side in theirs ours; do
    { $order < "$dir/$side/out"; echo; grep -v '^sending ' "$dir/$side/err" | $order; cat "$dir/$side/code"; } | $filter > "$dir/$side/all"
  done
  cmp -s "$dir/theirs/all" "$dir/ours/all" && report equal "pdsh $*" || report DIFFERENT "pdsh $*"
}
same_dshbak() {
  (cd "$dir" && dshbak "$@" < "$input" > theirs/all 2> /dev/null)
  (cd "$dir" && bin/dshbak "$@" < "$input" > ours/all 2> /dev/null)
  cmp -s "$dir/theirs/all" "$dir/ours/all" && report equal "dshbak $*" || report DIFFERENT "dshbak $*"
}
with_exec() {
  export PDSH_RCMD_TYPE=exec
  prefix=
  for host in foo0 foo1 foo10; do printf 'x\nBUG in %s\n' $host > "$dir/console.$host"; done
  same_pdsh -w 'foo[0,1,10]' grep BUG 'console.%h'
  same_pdsh -w 'foo[0-2]' echo '%h %n %u %% %x'
  same_pdsh -S -w 'foo[0-2],bar.example.com' sh -c 'echo out; echo err >&2; exit %n'
  same_pdsh -w a.x.com,b.x.com echo x
  same_pdsh -w a.x.com,b.y.com,c echo x
  same_pdsh -w a.x.com,10.0.0.1 echo x
  same_pdsh -K -w a.x.com,b.x.com echo x
  same_pdsh -w a nothing-here
  same_pdsh -w a printf 'no newline'
  same_pdsh -N -w a printf 'no newline'
  same_pdsh -w a,b printf 'x\ry\nz\n\n'
  same_pdsh -S -u 1 -w a sleep 9
  same_pdsh -w a sh -c 'kill -9 $$'
  filter='sed -E s/[0-9]+.sec/N_sec/g' # how long it took
  same_pdsh -d -w a,b true
  filter=cat
  same_pdsh -SNw a,b sh -c 'echo x; exit 3'
  order=cat
  same_pdsh -f 1 -w 'b[09-11],a2,a[3,1],c' echo %n
  FANOUT=1 same_pdsh -w 'b[1-3]' echo %n
  order=by_host
  # Targets
  printf '# racks\nn1,n2\n n[5-6] # two\n#include more\n' > "$dir/hosts"
  echo n9 > "$dir/more"
  same_pdsh -w 'foo[01-05]' echo
  same_pdsh -w 'foo[7,9-10]' echo
  same_pdsh -w 'foo[0-5]' -x 'foo[1-3]' echo
  same_pdsh -w 'foo[0-3]-eth0' echo
  same_pdsh -w 'foo[0-1]n[1-2]' echo
  same_pdsh -w '^hosts' echo
  same_pdsh -w 'n[1-9],-^hosts' echo
  same_pdsh -w 'n[1-9]' -x '^hosts,n3' echo
  same_pdsh -w 'n[1-12],/1$/' echo
  same_pdsh -w 'n[1-12],-/[13]/' echo
  same_pdsh -w 'n[1-12]' -x '/2/' echo
  same_pdsh -w 'exec:ann@n[1-2],bob@n3,n4' -l eve echo %u
  input=$dir/hosts same_pdsh -w - echo
  WCOLL=$dir/hosts same_pdsh echo %n
  filter='grep -v program' # the path of the program
  same_pdsh -q -w 'foo[08-10],foo1,foo2,bar,foo[3-5]' -f 8 -t 10 -u 20 -l ann ls -l
  same_pdsh -Q -w 'foo[08-10],foo1,bar' -N -b -d
  DSHPATH=/opt/bin:/bin same_pdsh -q -w a echo
  filter=cat
  # Genders
  genders=$dir/genders
  printf '%s\n' 'node[1-4] compute,rack=1,altname=%n-ib' 'node[5-10] compute,rack=2' 'login[1-2] login # two' 'old1 pdsh_all_skip,rack=1' \
    'node10 big' 'ann1 pdsh_rcmd_type=ann@exec' > "$genders"
  same_pdsh -F "$genders" -a echo %n
  same_pdsh -F "$genders" -A echo %n
  same_pdsh -F "$genders" -g compute echo %n
  same_pdsh -F "$genders" -g rack=1,login echo %n
  same_pdsh -F "$genders" -g 'compute&&rack=2--big' echo %n
  same_pdsh -F "$genders" -g '~(compute||login)' echo %n
  same_pdsh -F "$genders" -g compute -X rack=2 echo %n
  same_pdsh -F "$genders" -i -g rack=1 echo %n
  same_pdsh -F "$genders" -w 'node[1-6],x1' -g rack=1 echo %n
  same_pdsh -F "$genders" -w 'node[1-6],x1' -X rack=1 echo %n
  same_pdsh -F "$genders" -i -w 'node[3-6],x1' echo %n
  same_pdsh -F "$genders" -w node1-ib,node7,x9 -X compute,login -x node7 echo %n
  same_pdsh -F "$genders" -w ann1,node1 echo %u
  PDSH_GENDERS_FILE=$genders same_pdsh -g login echo
  PDSH_GENDERS_DIR=$dir same_pdsh -F genders -g login echo
}

# The first interrupt lists the hosts, a second one ends. Without a terminal too.
interrupted_side() { # SIDE OPTIONS
  local side=$1 program=pdsh pid
  shift
  [ "$side" = theirs ] || program=$dir/bin/pdsh
  env -C "$dir" "$program" "$@" -R exec -f 2 -w 'a[1-3]' sh -c 'echo %h; exec sleep 20' > "$dir/$side/out" 2> "$dir/$side/err" < /dev/null &
  pid=$!
  for ((i = 0; i < 100; i++)); do [ "$(wc -l < "$dir/$side/out")" = 2 ] && break; sleep 0.05; done
  # Not twice within the time of one key press; on a busy machine the second one may come too late, then one more.
  for ((i = 0; i < 50; i++)); do kill -INT $pid 2> /dev/null || break; sleep 0.4; done
  wait $pid
  echo "exit $?" > "$dir/$side/code"
  { grep -v '^sending ' "$dir/$side/err" | sort -u; cat "$dir/$side/code"; } > "$dir/$side/all"
}
interrupted() { # OPTIONS of both
  (interrupted_side theirs "$@") &
  (interrupted_side ours "$@")
  wait $!
  cmp -s "$dir/theirs/all" "$dir/ours/all" && report equal "pdsh $* (2 interrupts)" || report DIFFERENT "pdsh $* (2 interrupts)"
}

with_ssh() {
  export PDSH_RCMD_TYPE=ssh PDSH_SSH_ARGS_APPEND="-F $dir/ssh_config"
  prefix=on_head
  same_pdsh -w 'node[1-3]' hostname
  same_pdsh -w 'node[1-3],-node2' 'echo %h %n %u; cd /tmp && pwd'
  same_pdsh -w 'root@node1,node2' -l root id -un
  same_pdsh -S -w 'node[1-3]' 'echo out; echo err >&2; exit %n'
  same_pdsh -w node1,node2 exit 1
  same_pdsh -w node1 'printf "a b"'
  same_pdsh -w node1,node2 printf '"x\ry\nz\n"'
  same_pdsh -S -w node1 'kill -9 $$'
  same_pdsh -S -u 1 -w node1 sleep 9
  same_pdsh -S -w node1,node2 nothing-here
  DSHPATH=/nowhere same_pdsh -w node1 'echo $PATH'
  PDSH_SSH_ARGS="-2 -x -l root" same_pdsh -w node1 hostname
  same_pdsh -N -w node1 cat /etc/hosts
  order=cat
  same_pdsh -f 1 -w 'node[3,1,2]' hostname
  order=by_host
  # Other words of ssh about the connection; the same lines of pdsh.
  printf 'Host closed\n  HostName 10.77.0.11\n  Port 23\n' >> "$dir/ssh_config"
  filter='grep -v ssh:'
  same_pdsh -S -t 2 -w node1,closed hostname
  filter=cat
  prefix="on_head env PDSH_RCMD_TYPE=exec"
  same_pdsh -w 'node[1-3]' ssh -F "$dir/ssh_config" -x -l %u %h hostname
}

with_dshbak() {
  printf '%s\n' 'n3: a' 'n1: a' 'n2: b' 'n10: a' ' n1 :x' 'n1 y: z' 'n3:b' 'no host' 'n2: ' 'fe80::1: x' > "$dir/lines"
  for ((i = 0; i < 12; i++)); do printf 'foo%d: same\nfoo%d: %s\n' $i $i $((i == 5)); done > "$dir/many"
  printf '%s\n' 'a08: x' 'a09: x' 'a10: x' 'a011: x' 'a12: y' 'a100: y' 'a099: y' 'a1: y' 'a2: y' > "$dir/padded"
  printf '%s\n' 'n1-ib: x' 'n2-ib: x' 'n4-ib: x' > "$dir/suffix"
  printf 'n1: x\nn2: no newline' > "$dir/cut"
  for name in lines many padded suffix cut; do
    # Perl prints hosts without a number at their end in any order.
    [ $name = suffix ] || input=$dir/$name same_dshbak
    input=$dir/$name same_dshbak -c
  done
  same_dshbak "$dir/many"
  (cd "$dir" && dshbak -d files -f < many && bin/dshbak -fd more.files < many)
  diff -r "$dir/files" "$dir/more.files" > "$dir/theirs/all"
  : > "$dir/ours/all"
  cmp -s "$dir/theirs/all" "$dir/ours/all" && report equal "dshbak -d DIR -f" || report DIFFERENT "dshbak -d DIR -f"
}

with_exec
interrupted
interrupted -b
with_dshbak
if (netns_need) > /dev/null; then
  netns_up "$dir" 3 || exit 1
  with_ssh
else
  echo "no network namespaces here: pdsh by ssh is not compared"
fi
echo "$compared command lines compared, $failures differ"
[ "$failures" -eq 0 ]
