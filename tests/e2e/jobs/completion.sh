#!/usr/bin/env bash
# Tests the scripts of `dslaunch completion` in bash, and in fish and zsh if they are installed.
set -u
. "$DS_SOURCE/tests/support/launch.sh"
. "$DS_SOURCE/tests/support/jobs.sh"
export PATH="$DS_BIN:$PATH"
# shellcheck source=/dev/null
. <(dslaunch completion bash)
touch my_hosts my.toml
mkdir folder

# bash WORDS...: what is offered for the last one, in order. As bash splits them: --name=value is three words.
offered() {
  COMP_WORDS=(dslaunch "$@")
  COMP_CWORD=$#
  _dslaunch
  printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
}
# offers "WORDS" LINE: LINE is the list, or with * around it is part of it.
offers() {
  local words list
  read -ra words <<<"$1"
  [[ "$1" != *' ' ]] || words+=('')
  list=$(offered "${words[@]}")
  # shellcheck disable=SC2053
  [[ "$list" == $2 ]] || die "dslaunch $1 <TAB> offers: $list"
}
offers "att" "attach "
offers "--detac" "--detach "
offers "--hostfile my_" "my_hosts "
offers "--hostfile = my_" "my_hosts "
offers "--hostfile =" "*my_hosts *"
offers "--wdir f" "folder "
offers "--transport = l" "local "
offers "--transport ss" "ssh "
offers "--detach = my_" "my_hosts "
offers "--detach my." "my.toml "
offers "-n 2 m" "my.toml my_hosts "
offers "completion " "bash fish zsh "
offers "kill --signal US" "USR1 USR2 "
offers "help ki" "kill "
offers "-- tru" "*true *"
detached -n 1 -- sleep 1000
offers "kill ${id:0:3}" "$id "
offers "tail -n 5 ${id:0:3}" "$id "
"$dslaunch" kill "$id" --wait 2>/dev/null

if command -v fish >/dev/null; then
  dslaunch completion fish >script.fish
  of_fish() { fish -N -c "source script.fish; complete -C 'dslaunch $1'" 2>&1 | cut -f 1 | tr '\n' ' '; }
  [ "$(of_fish 'att')" = "attach " ] || die "fish: att: $(of_fish att)"
  [ "$(of_fish '--transport ss')" = "ssh " ] || die "fish: --transport ss: $(of_fish '--transport ss')"
  [ "$(of_fish 'kill --signal US')" = "USR1 USR2 " ] || die "fish: kill --signal"
  [ "$(of_fish 'completion ')" = "bash fish zsh " ] || die "fish: completion"
else
  echo "without fish"
fi
if command -v zsh >/dev/null; then
  dslaunch completion zsh >script.zsh
  zsh -f -c 'autoload -Uz compinit; compinit -D -u; source ./script.zsh; [[ ${_comps[dslaunch]} == _dslaunch ]]' 2>&1 ||
    die "zsh refuses the script"
else
  echo "without zsh"
fi

# The manual is sound for man, where it is installed.
dslaunch man >dslaunch.1
if command -v groff >/dev/null; then
  groff -man -ww -Tutf8 dslaunch.1 >page 2>warnings || die "groff fails"
  [ ! -s warnings ] || die "groff warns: $(cat warnings)"
  grep -q "attach" page || die "the page lacks text"
fi

# Words that are nearly subcommands, and help that needs nothing else.
run atach
expect 64 "a mistyped subcommand"
grep -q "did you mean dslaunch attach?" err || die "no neighbour of atach"
run hostname
expect 64 "a program without --"
grep -q "dslaunch \[options\] -- hostname" err || die "no hint for a program without --"
for words in "--help" "-h" "--help=all" "help" "help kill" "kill --help" "ps -h" "--version"; do
  # shellcheck disable=SC2086
  run $words
  expect 0 "$words"
  [ -s out ] && [ ! -s err ] || die "dslaunch $words prints nothing"
done
for words in "--help=x" "help no" "completion" "completion tcsh" "man x" "ps x" "attach a b" "agent x"; do
  # shellcheck disable=SC2086
  run $words
  expect 64 "$words"
done
echo "completion, manual and help hold together"
