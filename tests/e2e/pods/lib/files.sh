# Files that the kubelet puts into a pod: resolv.conf, hosts, secrets and config maps.

# The kubelet's form of resolv.conf and hosts for pod NAME.
pods_network_files() {
  local pod=$PODS/pods/$1 namespace full server=$pods_dns_address
  [ "$(< "$pod/families")" != 6 ] || server=$pods_dns_address6
  namespace=$(< "$pod/namespace")
  full=$(< "$pod/hostname")
  [ ! -s "$pod/subdomain" ] || full="$full.$(< "$pod/subdomain").$namespace.svc.cluster.local"$'\t'$full
  printf 'search %s.svc.cluster.local svc.cluster.local cluster.local\nnameserver %s\noptions ndots:5\n' \
    "$namespace" "$server" > "$pod/resolv.conf"
  {
    printf '# Kubernetes-managed hosts file.\n127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n'
    printf 'fe00::0\tip6-localnet\nfe00::0\tip6-mcastprefix\nfe00::1\tip6-allnodes\nfe00::2\tip6-allrouters\n'
    printf '%s\t%s\n' "$(pod_ip "$1")" "$full"
  } > "$pod/hosts"
  cat "$pod/hostname" > "$pod/hostname_file"
}

# pods_volume TARGET SOURCE MODE GROUP: SOURCE's files as the kubelet projects a secret or a config map: a folder of the
# moment, `..data` that points to it, and a link per key. Owner root; with a GROUP (fsGroup), its and readable by it.
pods_volume() {
  local target=$1 source=$2 mode=$3 group=$4 moment file
  moment=..$(date +%Y_%m_%d_%H_%M_%S).$RANDOM$RANDOM
  mkdir -p "$target/$moment"
  for file in "$source"/*; do
    [ -f "$file" ] || continue
    install -m "$mode" "$file" "$target/$moment/$(basename "$file")"
    [ -e "$target/$(basename "$file")" ] || ln -sT "..data/$(basename "$file")" "$target/$(basename "$file")"
  done
  chmod 755 "$target" "$target/$moment"
  if [ -n "$group" ]; then
    chgrp -R "$group" "$target/$moment"
    chmod -R g+r "$target/$moment"
    chmod 2775 "$target"
    chmod 2755 "$target/$moment"
  fi
  ln -sT "$moment" "$target/..data_tmp"
  mv -T "$target/..data_tmp" "$target/..data"
}

# update NAME PATH: the volume at PATH gets its source's files of now, by one swap of ..data, as after a change of the
# secret or config map. Files that are new there appear too.
pod_update() {
  local pod=$PODS/pods/$1 kind path source mode group old
  while IFS=$'\t' read -r kind path source mode group; do
    [ "$kind" = volume ] && [ "$path" = "$2" ] || continue
    old=$(readlink "$pod/volumes$path/..data")
    pods_volume "$pod/volumes$path" "$source" "$mode" "$group"
    rm -rf "${pod:?}/volumes$path/$old"
    return
  done < "$pod/mounts"
  echo "podctl: pod $1 has no volume at $2" >&2
  return 1
}
