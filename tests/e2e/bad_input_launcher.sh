#!/usr/bin/env bash
# Wrong command lines and wrong hostfiles: the exact message, nothing on stdout, and exit code 64 or 65.
set -u
dslaunch="$DS_BIN/dslaunch"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
checks=0
failures=0

# expect CODE MESSAGE ARGS...: runs dslaunch with ARGS; MESSAGE is all of its standard error.
expect() {
  local code=$1 message=$2 seen
  shift 2
  timeout 20 "$dslaunch" "$@" >out 2>err </dev/null
  seen=$?
  checks=$((checks + 1))
  if [ "$seen" != "$code" ] || [ -s out ] || [ "$(cat err)" != "$message" ]; then
    failures=$((failures + 1))
    printf 'FAILED: dslaunch %s\n--- expected exit %s and:\n%s\n--- seen exit %s and:\n' "$*" "$code" "$message" "$seen"
    cat err out
  fi
}

# The hostfile itself.
expect 65 "dslaunch: cannot read hostfile missing: No such file or directory
  hint: check --hostfile; relative paths start at the current directory" --hostfile missing -- true
mkdir folder
expect 65 "dslaunch: cannot read hostfile folder: Is a directory
  hint: --hostfile takes a file, not a directory" --hostfile folder -- true
: >empty
expect 65 "dslaunch: empty: the file names no host
  hint: write one host per line, for example: node01 slots=8" --hostfile empty -- true
printf '# nobody\n\n' >comments
expect 65 "dslaunch: comments: the file names no host
  hint: write one host per line, for example: node01 slots=8" --hostfile comments -- true

# Its lines.
printf 'localhost slots=2\nnode02 slot=2\n' >malformed
expect 65 "dslaunch: malformed:2:8: unknown key 'slot'
  node02 slot=2
         ^
  hint: did you mean 'slots'?" --hostfile malformed -- true
printf 'node01 slots=2\r\nnode02 slots=2\r\n  node01 slots=4\r\n' >duplicate
expect 65 "dslaunch: duplicate:3:3: host 'node01' is given twice (first at duplicate:1:1)
    node01 slots=4
    ^
  hint: give a host one line with slots=N; only lines without options may repeat and add up" --hostfile duplicate -- true
printf 'localhost slots=0\n' >zero
expect 65 "dslaunch: zero:1:17: a host must have at least 1 slot
  localhost slots=0
                  ^
  hint: to exclude a host, remove its line or put '#' before it" --hostfile zero --dry-run -- true
printf 'node[1-3\n' >unclosed
expect 65 "dslaunch: unclosed:1:5: unclosed '['
  node[1-3
      ^
  hint: add a ']'" --hostfile unclosed -- true
printf 'a slots=2\n' >small
expect 65 "dslaunch: 3 ranks were requested, but 1 host has only 2 slots
  hint: lower -n, raise slots= in the hostfile, or add --oversubscribe" --hostfile small -n 3 -- true

# The command line.
expect 64 "dslaunch: unknown option --hostfle
  hint: did you mean --hostfile?" --hostfle small -- true
expect 64 "dslaunch: --hostfile - and --stdin both read standard input
  hint: put the hosts or the variables into a file" --hostfile - --stdin all -- true
expect 64 "dslaunch: nothing to run
  hint: dslaunch [options] train.toml [key=value ...]   or   dslaunch [options] -- COMMAND ARGS..." --hostfile small
expect 64 "dslaunch: no command after --
  hint: for example: dslaunch -n 2 -- hostname" -n 2 --
expect 64 "dslaunch: -n must be an integer from 1 to 1048576, not 'two'
  hint: see dslaunch --help" -n two -- true
for value in 10.0.0.1 10.0.0.0/33 eth0,eth1 'a b'; do
  expect 64 "dslaunch: --iface must be an interface or a network, not '$value'
  hint: for example eth1, 10.1.0.0/16 or fd00:1::/64" --iface "$value" -- true
done
for value in node1:29500 http://node1 -x; do
  expect 64 "dslaunch: --master-addr must be an address or a host name, not '$value'
  hint: for example 10.0.0.1, fd00::1 or node01; give the port with --master-port" "--master_addr=$value" -- true
done
for value in 0 65536 29500x; do
  expect 64 "dslaunch: --master-port must be an integer from 1 to 65535, not '$value'
  hint: see dslaunch --help" --master-port "$value" -- true
done
expect 64 "dslaunch: --host: slots must be an integer, not 'x'
  a,b:x
      ^
  hint: give HOST[:SLOTS] separated by commas, for example node1:4,node[2-3],node4:*" --host a,b:x -- true
expect 64 "dslaunch: --include: missing host name
  w0@@w1
     ^
  hint: give HOST[:SLOT,SLOT...] separated by @, for example worker-0@worker-1:0,2" -i w0@@w1 -- true
expect 64 "dslaunch: --map-by 'moon': it must be slot, node, seq, socket, numa, l3cache, core, hwthread or ppr:N:PART
  hint: for example slot, node, numa, socket:pe=2 or ppr:2:socket" --map-by moon -- true
expect 64 "dslaunch: the program after ':' needs -- before its command
  hint: for example: dslaunch -n 2 -- ./a : -n 4 -- ./b   (--one-program makes ':' an argument)" -n 2 -- true : -n 4 true
expect 64 "dslaunch: 'hostname' is not a .toml file
  hint: to run a program: dslaunch [options] -- hostname" hostname
expect 64 "dslaunch: -x DS_NOT_SET: DS_NOT_SET is not set in this environment
  hint: write -x DS_NOT_SET=value, or export it first" -x DS_NOT_SET -- true
expect 65 "dslaunch: cannot read missing.toml: No such file or directory
  hint: relative paths start at the current directory" missing.toml

# What the system refuses is told as that, with the limit: as another user, for root has none.
if ldd "$dslaunch" | grep -q 'lib[at]san'; then
  echo "not tested with a sanitizer: limits"
elif [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
  cp "$dslaunch" own
  chmod 755 . own
  printf '%s\n' '#!/bin/bash' 'exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-' 'ulimit "$1" "$2" && shift 2 && exec "$@"' >limited
  chmod 755 limited
  real=$dslaunch
  dslaunch=setpriv
  as_other="--reuid=54321 --regid=54321 --clear-groups $work/limited"
  mkdir -m 700 sockets
  chown 54321 sockets
  export DSLAUNCH_RUNTIME_DIR=$work/sockets
  expect 1 "dslaunch: 1 of 1 node was not reached:
  HOSTS      STAGE  REASON
  localhost  -      cannot start the agent of this machine: Resource temporarily unavailable
dslaunch: cannot start another thread: Resource temporarily unavailable
  hint: this user may have reached a limit on processes and threads: ulimit -u, or pids.max of a container" \
    $as_other -u 1 "$work/own" exec -w localhost -- true
  expect 1 "dslaunch: a system call failed: epoll: Too many open files
  hint: a limit of this user or of the machine may be reached; \`ulimit -a\` shows the user's limits" \
    $as_other -n 4 "$work/own" exec -w localhost -- true
  dslaunch=$real
else
  echo "not tested, for want of another user: limits"
fi

if [ "$failures" != 0 ]; then
  echo "bad input of the launcher: $failures of $checks checks failed"
  exit 1
fi
echo "bad input of the launcher: $checks checks passed"
