#!/usr/bin/env bash
# Tests `dslaunch exec` on several nodes: hosts, shells, output and exit codes.
set -u
. "$DS_SOURCE/tests/e2e/exec/loopback.sh"

exec_on '127.0.2.[1-3]' 'echo "%n %% $((1 + 1))"; echo warn >&2'
expect 0 "three nodes"
sorted_out_is "127.0.2.1: 0 % 2
127.0.2.2: 1 % 2
127.0.2.3: 2 % 2" "a line of each node below its name"
[ "$(sort err)" = "127.0.2.1: warn
127.0.2.2: warn
127.0.2.3: warn" ] || die "standard error has names too"

exec_on 127.0.2.1 -N -- pwd
out_is "$(getent passwd "$(id -u)" | cut -d: -f6)" "it runs in the home directory"
head -c 100000 /dev/urandom >random
exec_on 127.0.2.1 -N -- cat "$work/random"
cmp -s random out || die "the bytes of one host are unchanged with -N"
exec_on 127.0.2.1 -N --wdir "$work" pwd
out_is "$work" "--wdir"
exec_on 127.0.2.1 -N --no-shell -- printf '%%s|' 'a  b' '$HOME' '*'
out_is 'a  b|$HOME|*|' "--no-shell passes words as they are"
exec_on 127.0.2.1 -N --literal -- echo %h %n
out_is '%h %n' "--literal"
HOME=/no/such/home run exec -N -w localhost pwd
out_is / "without a home directory it runs in /, as with ssh"
err_is "Could not change to home directory /no/such/home: No such file or directory; this runs in /" "and says so"
SHELL=/bin/dash run exec -N -w localhost 'echo $0'
out_is dash "the login shell runs the words, named as by sshd"

# Folding.
exec_on '127.0.2.[1-3]' -b -- 'echo same; [ %n != 1 ] || echo other; echo loose >&2'
out_is '---------------
127.0.2.[1,3] (2)
---------------
same
---------------
127.0.2.2
---------------
same
other' "equal output is printed once"
[ "$(wc -l <err)" = 3 ] || die "with -b standard error comes at once"
exec_on '127.0.2.[1-3]' -B -- 'echo loose >&2'
out_is '---------------
127.0.2.[1-3] (3)
---------------
loose' "-B folds standard error too"
exec_on '127.0.2.[1-3]' --diff -- 'echo a; [ %n != 0 ] && echo b || echo B; echo c'
out_is '---------------
127.0.2.[2-3] (2)
---------------
a
b
c
--- 127.0.2.[2-3] (2)
+++ 127.0.2.1
@@ -1,3 +1,3 @@
 a
-b
+B
 c' "--diff"

exec_on '127.0.2.[1-4]' --diff -- '[ %n != 1 ] || echo only'
out_is '---------------
127.0.2.[1,3] (2)
---------------
--- 127.0.2.[1,3] (2)
+++ 127.0.2.2
@@ -0,0 +1 @@
+only' "--diff counts no output, but not that of a node that was not reached"

# Failures: nobody else is stopped, all are named, the code is 0 or with -S the largest.
exec_on '127.0.2.[1-4]' -- 'case %n in 0) exit 3 ;; 1) kill -SEGV $$ ;; esac; echo done'
expect 0 "failures do not matter without -S"
out_is "127.0.2.3: done" "the others run on"
[ "$(sed -n '1,3s/ (core dumped)//; 1,3p' err)" = "dslaunch: 127.0.2.1: exited 3
dslaunch: 127.0.2.2: killed by SIGSEGV
dslaunch: 1 of 4 nodes was not reached:" ] || die "what failed is listed"
grep -q '^  127\.0\.2\.4  connection  .*refused' err || die "the node that refuses is named with the reason"
exec_on '127.0.2.[1-2]' -S -- 'exit $((%n + 4))'
expect 5 "-S"
exec_on '127.0.2.[3-4]' -S -- true
expect 69 "-S counts nodes that were not reached"
exec_on 127.0.2.1 -S --no-shell -- no-such-command
expect 127 "-S with a command that is not there"

exec_on "127.0.2.4:$port,127.0.2.4:1" -- true
grep -qE "^  127.0.2.4:$port +connection  cannot connect to port" err || die "the reason repeats the name of a host with a port"
exec_on 127.0.2.1 -S --known-hosts "$work" -- true
expect 69 "known_hosts is a directory"
grep -qF "cannot read known_hosts $work: Is a directory" err || die "known_hosts that cannot be read"
files=$(ulimit -Sn)
ulimit -Sn 14
exec_on '127.0.2.[1-3]' -S -- true
ulimit -Sn "$files"
expect 0 "a low limit of open files is raised"
exec_on 127.0.2.1 -S --no-shell -- "$work"
expect 126 "a directory as the command"
err_is "dslaunch: 127.0.2.1: cannot run $work: Is a directory" "a directory as the command"

# A node that takes connections and says nothing holds nobody longer than -t.
kill -STOP "$(cat ssh/sshd.pid)"
exec_on 127.0.2.1 -t 2 -- true
kill -CONT "$(cat ssh/sshd.pid)"
grep -q 'key exchange did not finish within 2 s' err || die "-t holds for the key exchange too"

# One that hangs up at once may only be busy: it is tried again, for twice that time and not eight times over.
[ -x "$DS_TESTS/net_helper" ] || die "net_helper is not built"
busy=$(free_port)
"$DS_TESTS/net_helper" hang-up 127.0.2.1 "$busy" &
busy_pid=$!
printf 'Host busy\nHostName 127.0.2.1\nPort %s\n' "$busy" | cat - ssh/ssh_config >ssh/busy_config
until (exec 3<>"/dev/tcp/127.0.2.1/$busy") 2>/dev/null; do sleep 0.05; done
run exec --ssh-config ssh/busy_config -w busy -t 1 -S -- true
kill "$busy_pid"
expect 69 "a server that hangs up"
grep -Eq 'busy .*the server hung up \([2-6] attempts\)' err || die "tries within twice the time of -t"

# Lists, files, groups.
mkdir groups
echo '127.0.2.[1-2] # two' >groups/pair
echo '@pair,127.0.2.3' >list
export DSHGROUP_PATH=$work/groups
names() { sort out | cut -d: -f1 | tr '\n' ' '; }
exec_on '^list' -x 127.0.2.2 -- echo
[ "$(names)" = "127.0.2.1 127.0.2.3 " ] || die "^FILE with a group, and -x"
run exec --ssh-config ssh/ssh_config -g pair echo
[ "$(names)" = "127.0.2.1 127.0.2.2 " ] || die "-g"
WCOLL=$work/list run exec --ssh-config ssh/ssh_config echo
[ "$(names)" = "127.0.2.1 127.0.2.2 127.0.2.3 " ] || die "WCOLL"
printf '127.0.2.1 slots=8\n127.0.2.3 port=%s\n' "$port" >hosts
DSLAUNCH_HOSTFILE=$work/hosts run exec --ssh-config ssh/ssh_config echo
[ "$(names)" = "127.0.2.1 127.0.2.3 " ] || die "DSLAUNCH_HOSTFILE"
run exec --ssh-config ssh/ssh_config --hostfile hosts -- echo
[ "$(names)" = "127.0.2.1 127.0.2.3 " ] || die "--hostfile"
echo '127.0.2.2' | "$dslaunch" exec --ssh-config ssh/ssh_config -w - -- echo >out 2>err
[ "$(names)" = "127.0.2.2 " ] || die "a list on standard input"

# The fan-out: with 1 the nodes come one after the other.
exec_on '127.0.2.[1-3]' -f 1 -- "echo in >>$work/order; echo out >>$work/order"
[ "$(tr '\n' ' ' <order)" = "in out in out in out " ] || die "-f 1"

# Wrong use.
wrong() { # CODE WORDS ARGS...
  local code=$1 words=$2
  shift 2
  run exec "$@"
  expect "$code" "wrong use: $*"
  grep -qF -- "$words" err || die "wrong use: $* does not say: $words"
}
unset WCOLL
wrong 64 'no hosts are given' echo
wrong 64 'no command is given' -w n1
wrong 64 'no hosts are left' -w n1 -x n1 echo
wrong 64 "unclosed '['" -w 'n[1-3' echo
wrong 64 'named for two users, ann and bob' -w ann@n1,bob@n1 echo
wrong 64 "-l: a user name cannot start with '-'" -l -oProxyCommand=id -w n1 echo
wrong 64 'see dslaunch exec --help' -w n1 -q echo
wrong 64 "no group 'nobody'" -g nobody echo
wrong 64 '-f must be an integer' -w n1 -f 0 echo
wrong 64 '-u must be a duration' -w n1 -u soon echo
wrong 64 'unknown option --difff' -w n1 --difff echo
wrong 65 'cannot read the host list' -w '^/no/such/file' echo
wrong 65 'cannot read the host list' -w "^$work" echo
echo "ok"
