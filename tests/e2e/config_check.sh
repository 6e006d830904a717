#!/usr/bin/env bash
# dslaunch train.toml checks the configuration on this machine before it contacts any host.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
head -c 5000 /dev/zero | tr '\0' 'a' >text
cat >good.toml <<'END'
[model]
preset = "gpt-tiny"
[data]
train = ["text"]
seq_len = 32
[batch]
micro = 1
accum = 1
[train]
steps = 1
END
sed 's/steps/stepz/' good.toml >bad.toml
# No host answers here: contacting one would end with exit code 69 and an error about it.
echo 'no-such-host.invalid slots=2' >hosts

run --hostfile hosts bad.toml
expect 65 "a wrong key"
grep -q '^dsrunner: .*bad.toml:10' err || die "the error of dsrunner as it is"
grep -q "train.steps" err || die "the key that is meant"
! grep -q "invalid" err || die "a host was reached for"
run --hostfile hosts good.toml train.stepz=3
expect 65 "a wrong override"
run --hostfile hosts good.toml zero.stage=9
expect 65 "a wrong value"

# What only this machine knows is checked only where the ranks run on it.
run --hostfile hosts good.toml 'data.train=["/on/the/nodes/only"]'
expect 69 "data that is not here, for other machines"
run good.toml 'data.train=["/not/here"]'
expect 65 "data that is not here, for this machine"
[ "$(grep -c '^dsrunner: ' err)" = 1 ] || die "it is said once"
! grep -q 'rank' err || die "ranks were started"
mkdir elsewhere
run --wdir elsewhere -n 2 good.toml
expect 0 "a good configuration, in another folder"

# Without a dsrunner beside dslaunch there is no check.
mkdir alone
cp "$dslaunch" alone/
rc=0
./alone/dslaunch --hostfile hosts bad.toml >out 2>err </dev/null || rc=$?
expect 69 "no dsrunner here"
run --dry-run bad.toml
expect 0 "--dry-run starts nothing"
echo "ok"
