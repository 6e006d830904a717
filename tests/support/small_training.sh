# Sourced by tests of elastic jobs.
#   small_training FILE STEPS GLOBAL ["KEY = VALUE" ...]   writes the config of a small training on the file `text` beside it
small_training() {
  local file=$1 steps=$2 global=$3
  cat > "$file" << END
model.preset = "gpt-tiny"
data.train = "text"
data.validation = 0
data.seq_len = 32
batch.micro = 1
batch.global = $global
train.steps = $steps
log.every = 1
log.samples = true
log.phases = false
device.threads = 1
END
  printf '%s\n' "${@:4}" >> "$file"
}
