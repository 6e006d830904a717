#!/usr/bin/env bash
# Every kind of start error on every rank: the verdict names that rank, its code and its error, the other ranks name it too,
# and an error of the configuration is never followed by a restart.
set -u
source "$(dirname "$0")/../support/launch.sh"
[ -x "$DS_BIN/dsrunner" ] || exit 77
ranks=3
head -c 20000 /dev/urandom | od -An -tx1 >text
cat >train.toml <<'END'
[model]
preset = "gpt-tiny"
[data]
train = "text"
validation = 0
seq_len = 32
[batch]
micro = 2
accum = 1
[train]
steps = 2
[device]
threads = 1
END
# dslaunch starts the dsrunner beside it: this one breaks the start of one rank.
mkdir bin
cp "$DS_BIN/dslaunch" bin/ 2>/dev/null
dslaunch=$work/bin/dslaunch
cat >bin/dsrunner <<END
#!/usr/bin/env bash
case " \$* " in *" --check"*) exit 0 ;; esac
[ "\$RANK" != "\$BROKEN_RANK" ] || eval "\$BREAK"
exec "$DS_BIN/dsrunner" "\$@"
END
chmod +x bin/dsrunner

# breaks CODE RANK 'BASH' TEXT [KEY=VALUE...]: `BASH` runs on RANK before its dsrunner.
breaks() {
  local code=$1 rank=$2 what=$3 text=$4
  shift 4
  export BROKEN_RANK=$rank BREAK=$what
  run -np $ranks -x BROKEN_RANK -x BREAK --max-restarts "${restarts:-2}" train.toml "$@"
  expect "$code" "rank $rank with '$what' $*"
  tail -n 1 err | grep -q "^dslaunch: rank $rank on localhost: .*(first failure)" || die "the verdict does not name rank $rank ('$what' $*)"
  grep -qE "$text" err || die "the error of rank $rank is not shown ('$what' $*): $text"
  [ "$code" = 65 ] || return 0
  ! grep -q 'restart 1 of' err || die "an error of the configuration was followed by a restart ('$what' $*)"
}

touch no_folder
for ((rank = 0; rank < ranks; ++rank)); do
  # Before the ranks connect to each other.
  breaks 65 $rank 'set -- "$@" data.train=missing' 'data.train: .*missing matches no file'
  breaks 65 $rank 'set -- "$@" train.stesp=3' 'unknown key "train.stesp"'
  breaks 65 $rank 'set -- "$@" model.init=missing' 'missing'
  breaks 65 $rank 'set -- "$@" device.backend=cuda' 'CUDA'
  breaks 64 $rank 'set -- --no-such-option' "unknown option '--no-such-option'"
  breaks 65 $rank 'set -- "$@" offload.optimizer.paths=no_folder' 'no_folder: is not a folder' offload.optimizer.device=nvme offload.optimizer.paths=.
  # After that all hear of it, and the others name the rank, unless the launcher has ended them before.
  others="dsrunner: "
  breaks 65 $rank 'trap "" XFSZ; ulimit -f 0' "$others" checkpoint.dir=saved
  sanitized || restarts=0 breaks 1 $rank 'ulimit -v 400000' "$others" model.hidden=384 model.layers=8 batch.micro=64 data.seq_len=256
  restarts=0 breaks 139 $rank 'ulimit -c 0; kill -SEGV $$' 'killed by SIGSEGV'
done
# Only rank 0 makes the run's folder.
breaks 65 0 : 'dsrunner: run folder /proc/nope cannot be created' log.dir=/proc/nope
# An error that all ranks have is shown once.
run -np $ranks --max-restarts 2 -x BROKEN_RANK=none -x BREAK= train.toml data.train=missing
expect 65 "an error on all ranks"
[ "$(grep -c 'matches no file' err)" = 1 ] || die "an error of all ranks is not shown once"
echo OK
