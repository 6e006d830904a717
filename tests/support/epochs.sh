# Sourced by tests of jobs with --nodes MIN:MAX: a program whose ranks wait in each epoch until the test ends it.
#   epoch_body WORDS       sets $body, for `sh -c`: prints "epoch E rank R of N" and WORDS, which the rank expands
#   epoch_is_up E RANKS    whether that many ranks of the epoch run
#   end_epoch E CODE       lets the ranks of the epoch exit with CODE

epoch_body() {
  export body='
  echo "epoch $DSLAUNCH_EPOCH rank $RANK of $WORLD_SIZE'"$1"'"
  : >up.$DSLAUNCH_EPOCH.$RANK
  while [ ! -e go.$DSLAUNCH_EPOCH ]; do sleep 0.02; done
  exit $(cat go.$DSLAUNCH_EPOCH)'
}
epoch_is_up() {
  local rank
  for ((rank = 0; rank < $2; ++rank)); do [ -e "up.$1.$rank" ] || return 1; done
}
end_epoch() { echo "$2" >go.tmp; mv go.tmp "go.$1"; }
