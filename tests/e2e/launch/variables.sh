#!/usr/bin/env bash
# Tests variables for ranks: files, patterns, policies, precedence, and hidden values.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
unset DS_ENV_FILE OMP_NUM_THREADS
export HOME="$work/home"
mkdir home
value() { "$dslaunch" "$@" -- sh -c 'echo "$V"' 2>err; }
is() { [ "$2" = "$3" ] || die "$1: '$2', not '$3'"; }

# Later ones win: home, here, --env-file in their order, -x.
echo 'V=home' >home/.deepspeed_env
is 'home' "$(value)" home
printf '# here\n\nexport V="he re"  # x\n' >.deepspeed_env
is 'here' "$(value)" 'he re'
echo 'V=one' >one
echo 'V=two' >two
is 'files' "$(value --env-file one --env-file two)" two
is '-x' "$(value --env-file one -x V=given)" given
is 'stdin' "$(echo V=in | "$dslaunch" --env-file - -- sh -c 'echo "$V"')" in
is 'DS_ENV_FILE' "$(DS_ENV_FILE=one value)" one
is 'no default file' "$(V=own DS_ENV_FILE=/dev/null value)" own
is 'none' "$(V=own value --env none)" ''
is 'none, given' "$(value --env none -x V=given)" given
is 'pattern' "$(MY_A=1 MY_B=2 "$dslaunch" --env none -x 'MY_*' -- sh -c 'echo $MY_A$MY_B')" 12
is 'what a login has' "$("$dslaunch" --env none -- sh -c 'echo "$HOME $PATH"')" "$HOME $PATH"
rm -f home/.deepspeed_env .deepspeed_env

printf 'A=1\nB\n' >bad
run --env-file bad -- true
expect 65 'a bad line'
grep -q '^dslaunch: bad:2:1: expected NAME=value$' err || die 'its message'
run --env-file none -- true
expect 65 'a missing file'
chmod 666 one
run --env-file one -- true
expect 65 'a file that everybody may write'
chmod 644 one
run -x RANK=1 -- true
expect 64 'a reserved name'
printf 'DB_PASSWORD=geheim\n' >secrets
chmod 644 secrets
run --env-file secrets -- true
expect 0 'a readable secret'
is 'the warning' "$(cat err)" 'dslaunch: warning: secrets sets DB_PASSWORD and every user can read it; run: chmod go-r secrets'

# Nobody sees a value: not in a command line of ours, not in a table.
chmod 600 secrets
run --env-file secrets -x TOKEN_X=geheim -x PLAIN=geheim --redact 'PL*' --dry-run=env -- true
expect 0 '--dry-run=env'
grep -q geheim out && die 'a secret is shown'
[ "$(grep -c '=\*\*\*' out)" = 3 ] || die 'three values are hidden'
background -x PLAIN=geheim-123 -xMORE=geheim-456 -- sh -c 'echo "$PLAIN $MORE"; exec sleep 60'
wait_for grep -q 'geheim-123 geheim-456' out
for pid in $(job_processes); do
  tr '\0' ' ' <"/proc/$pid/cmdline" | grep geheim && die "a value is in the command line of process $pid"
done
tr '\0' ' ' <"/proc/$launcher/cmdline" | grep -q 'PLAIN=\*\*\*' || die "the launcher's command line: $(tr '\0' ' ' <"/proc/$launcher/cmdline")"
kill "$launcher"
finish

# The names of other launchers, on request alone.
run -n 2 -- sh -c 'env | grep -cE "^(OMPI|PMI|HOROVOD|MPI)_"'
grep -q '[1-9]' <(sed 's/^\[.\] //' out) && die 'names of other launchers are set'
run -n 2 --mpi-env=openmpi,horovod -- sh -c 'echo "$OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $HOROVOD_LOCAL_RANK ${PMI_RANK-none}"'
is '--mpi-env' "$(sort out | tr '\n' ';')" '[0] 0 2 0 none;[1] 1 2 1 none;'
run -n 2 -- sh -c 'echo "$GROUP_WORLD_SIZE $ROLE_NAME $TORCHELASTIC_USE_AGENT_STORE $TORCH_NCCL_ASYNC_ERROR_HANDLING"'
is 'torch' "$(sort -u out | head -n 1)" '[0] 1 default False 1'
echo 'variables: files, policies and secrets hold'
