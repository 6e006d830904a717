# Sourced by tests: creates ConfigMap and Secret volumes as kubelet does, and the keys that operators make.
#   volume_write DIR MODE GROUP NAME[@MODE]=FILE...   a new state of the volume; GROUP is fsGroup, or empty
#   make_key KIND FILE      KIND: ec521 (Trainer, mpi-operator), rsa1024 (et-operator, Volcano of old), rsa2048; FILE.pub too
# A volume is a folder of links `name -> ..data/name`; `..data -> ..<time>` is replaced in one rename, so that readers see
# all of the old state or all of the new one. Files belong to root; fsGroup adds its group and the right to read.

volume_write() {
  local dir=$1 mode=$2 group=$3 item name file item_mode state top old
  shift 3
  state=..$(date +%Y_%m_%d_%H_%M_%S).$(date +%N)
  mkdir -p "$dir/$state"
  chmod 755 "$dir/$state"
  for item in "$@"; do
    name=${item%%=*} file=${item#*=} item_mode=$mode
    [ "${name%@*}" = "$name" ] || { item_mode=${name##*@} name=${name%@*}; }
    mkdir -p "$(dirname "$dir/$state/$name")"
    cp "$file" "$dir/$state/$name"
    [ -z "$group" ] || item_mode=$(printf '%04o' $((0$item_mode | 0440)))
    chmod "$item_mode" "$dir/$state/$name"
  done
  if [ -n "$group" ]; then
    chgrp -R "$group" "$dir/$state"
    find "$dir/$state" -type d -exec chmod 2775 {} +
  fi
  old=$(readlink "$dir/..data" || true)
  ln -s "$state" "$dir/..data_tmp"
  mv -T "$dir/..data_tmp" "$dir/..data"
  for item in "$@"; do
    name=${item%%=*} top=${name%%/*}
    top=${top%@*}
    [ -L "$dir/$top" ] || ln -s "..data/$top" "$dir/$top"
  done
  chmod 1777 "$dir"
  [ -z "$group" ] || { chgrp "$group" "$dir"; chmod 3777 "$dir"; }
  [ -z "$old" ] || rm -r "${dir:?}/$old"
}

make_key() {
  case $1 in
    ec521) ssh-keygen -q -t ecdsa -b 521 -m PEM -N '' -C '' -f "$2" ;;
    rsa1024) ssh-keygen -q -t rsa -b 1024 -m PEM -N '' -C '' -f "$2" ;;
    rsa2048) ssh-keygen -q -t rsa -b 2048 -m PEM -N '' -C '' -f "$2" ;;
  esac
}
