#!/usr/bin/env bash
# Tests PyTorch's DistributedDataParallel over Gloo with a script written for torchrun: 3 hosts (network namespaces) of 2
# ranks each, over ssh. All ranks end with the same weights.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
. "$DS_SOURCE/tests/support/netns.sh"
/usr/bin/python3 -c 'import torch.distributed as d; assert d.is_available()' 2> /dev/null ||
  { echo "SKIP: Debian's python3-torch is not installed"; exit 77; }
netns_need
dir=$(mktemp -d)
trap 'netns_down; rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; exit 1; }
netns_up "$dir" 3 || exit 1
printf 'node%d slots=2\n' 1 2 3 > "$dir/hosts"
on_head timeout 120 "$DS_BIN/dslaunch" --ssh-config "$dir/ssh_config" --hostfile "$dir/hosts" -- \
  /usr/bin/python3 "$DS_SOURCE/tests/e2e/ssh/train_ddp.py" > "$dir/out" 2> "$dir/err" < /dev/null || fail "exit $?"
for rank in 0 1 2 3 4 5; do
  grep -q "^\[$rank\] rank $rank of 6: loss" "$dir/out" || fail "rank $rank has not ended its training"
done
[ "$(sed 's/.*weights //' "$dir/out" | sort -u | wc -l)" = 1 ] || fail "the ranks have different weights"
awk '{ if ($6 < 1 || $8 + 0 > 0.01) exit 1 }' "$dir/out" || fail "the loss did not fall"
echo "DDP: $(sed -n 's/^\[0\] //p' "$dir/out")"
