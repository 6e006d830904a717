#!/usr/bin/env bash
# Tests certificates of hosts (@cert-authority in known_hosts) and of users against a real sshd on loopback.
set -u
. "$DS_SOURCE/tests/support/sshd.sh"
sshd_need
probe=$DS_TESTS/ssh_probe
dir=$(mktemp -d)
trap 'sshd_stop "$dir"; rm -rf "$dir"' EXIT
unset SSH_AUTH_SOCK
failures=0
fail() { echo "FAIL: $case: $*"; sed 's/^/    /' "$dir/out" "$dir/err"; failures=$((failures + 1)); }
run() {
  case=$1
  shift
  timeout 60 "$probe" -F "$dir/ssh_config" -p "$port" "$@" > "$dir/out" 2> "$dir/err" < /dev/null
  status=$?
}
want_status() { [ "$status" -eq "$1" ] || fail "exit $status, expected $1"; }
want() { grep -qE -- "$1" "$dir/err" || fail "no message like: $1"; }
public() { cut -d' ' -f1,2 "$1.pub"; }
sshd_setup "$dir"
port=
# restart LINES...: sshd on a fresh port, with other settings
restart() {
  sshd_stop "$dir"
  port=$(free_port)
  sshd_start "$dir" 0.0.0.0 "$port" "$@"
}
# certify ARGS...: another certificate for the host key, and sshd with it
certify() {
  rm -f "$dir/$host-cert.pub"
  ssh-keygen -q -h -I web-7 "$@" "$dir/$host.pub"
  cp "$dir/$host" "$dir/host_key" # its only one
  cp "$dir/$host.pub" "$dir/host_key.pub"
  restart "HostCertificate $dir/$host-cert.pub"
}
trust() { printf '%s\n' "$@" > "$dir/known_hosts"; }

# Users. No key is authorized by itself; the certificate's principal is the user's name.
me=$(id -un)
host=host_key
ssh-keygen -q -t ed25519 -N '' -f "$dir/user_ca"
ssh-keygen -q -t ed25519 -N '' -f "$dir/other_key"
restart "TrustedUserCAKeys $dir/user_ca.pub" "AuthorizedKeysFile none"
sshd_know "$dir" "[127.0.0.*]:$port"
cp "$dir/ssh_config" "$dir/plain_config"
run "a key that nobody has certified" 127.0.0.2
want_status 69
for type in ed25519 ecdsa rsa; do
  rm -f "$dir/client_key" "$dir/client_key.pub" "$dir/client_key-cert.pub"
  ssh-keygen -q -t $type -N '' -f "$dir/client_key"
  ssh-keygen -q -s "$dir/user_ca" -I me -n "$me" "$dir/client_key.pub"
  run "a certificate beside its $type key" 127.0.0.2 127.0.0.3
  want_status 0
done
mv "$dir/client_key-cert.pub" "$dir/elsewhere.pub"
run "without its certificate" 127.0.0.2
want_status 69
sed "1i CertificateFile $dir/elsewhere.pub" "$dir/plain_config" > "$dir/ssh_config"
run "CertificateFile" 127.0.0.2
want_status 0
sed "1i CertificateFile $dir/none.pub\nCertificateFile $dir/user_ca.pub\nCertificateFile $dir/foreign-cert.pub" \
  "$dir/plain_config" > "$dir/ssh_config"
ssh-keygen -q -s "$dir/user_ca" -I foreign -n "$me" "$dir/other_key.pub"
mv "$dir/other_key-cert.pub" "$dir/foreign-cert.pub"
run "certificates that are none, or of another key" 127.0.0.2
want_status 69
want "$dir/none.pub does not exist"
want "$dir/user_ca.pub is not used: it is not a user certificate"
want "$dir/foreign-cert.pub is not used: its key is in no file that can be used"
cp "$dir/plain_config" "$dir/ssh_config"
ssh-keygen -q -s "$dir/user_ca" -I me -n "$me" -V 20200101:20200201 "$dir/client_key.pub"
run "a certificate out of date" 127.0.0.2
want_status 69
want "tried: $dir/client_key-cert.pub, $dir/client_key; .*$dir/client_key-cert.pub: it was valid until 2020-0"
rm "$dir/client_key-cert.pub"
cp "$dir/client_key.pub" "$dir/authorized_keys"

# Hosts.
ssh-keygen -q -t ed25519 -N '' -f "$dir/host_ca"
restart
trust "@cert-authority * $(public "$dir/host_ca")"
run "a host without a certificate, which is not known" 127.0.0.2
want_status 69
want "is unknown; $dir/known_hosts:1 names an authority for it, but it shows no certificate; check"

# Every kind of key for the authority and for the host, each by the other.
host=host_key
for type in ed25519 ecdsa-256 ecdsa-384 ecdsa-521 rsa-3072; do
  bits=()
  case $type in *-*) bits=(-b "${type#*-}") ;; esac
  for name in ca host; do ssh-keygen -q -t "${type%-*}" "${bits[@]}" -N '' -f "$dir/$name-$type"; done
done
for type in ed25519 ecdsa-256 ecdsa-384 ecdsa-521 rsa-3072; do
  host=host-$type
  certify -s "$dir/ca-$type" -n 127.0.0.2
  trust "@cert-authority 127.0.0.*,[127.0.0.*]:$port $(public "$dir/ca-$type")"
  run "a host whose key and authority are $type" 127.0.0.2
  want_status 0
done
certify -s "$dir/ca-rsa-3072" -t rsa-sha2-256 -n 127.0.0.2
trust "@cert-authority * $(public "$dir/ca-rsa-3072")"
run "an authority that signs with SHA-256" 127.0.0.2
want_status 0
certify -s "$dir/ca-rsa-3072" -t ssh-rsa -n 127.0.0.2
trust "@cert-authority * $(public "$dir/ca-rsa-3072")"
run "an authority that signs with SHA-1" 127.0.0.2
want_status 69
want 'its certificate web-7 is refused: its signature does not hold'

# What a certificate may not be.
host=host-ed25519
ca=$(public "$dir/ca-ed25519")
certify -s "$dir/ca-ed25519" -n '127.0.0.2,*.cluster'
trust "@cert-authority * $ca"
printf 'Host alias\n HostName 127.0.0.3\n HostKeyAlias node9.cluster\n' >> "$dir/ssh_config"
run "names and patterns of the certificate" 127.0.0.2 alias
want_status 0
run "another name" 127.0.0.2 127.0.0.3
want_status 69
want '^unreachable: \[host key\] 127.0.0.3: host key ssh-ed25519 SHA256:.* is unknown; its certificate web-7 is refused: it is for 127.0.0.2, \*.cluster, not for 127.0.0.3'
trust "@cert-authority * $ca" "[127.0.0.3]:$port $(public "$dir/$host")"
run "another name, but the key itself is known" 127.0.0.3
want_status 0
trust "@cert-authority * $(public "$dir/ca-ecdsa-256")"
run "another authority" 127.0.0.2
want_status 69
want 'is unknown; its certificate web-7 is of another authority, SHA256:'
trust "@cert-authority *.elsewhere $ca"
run "an authority for other hosts" 127.0.0.2
want_status 69
want 'host key .* is unknown; check the fingerprint'
for revoked in "$ca" "$(public "$dir/$host")"; do
  trust "@cert-authority * $ca" "@revoked * $revoked"
  run "revoked" 127.0.0.2
  want_status 69
  want "host key .* is revoked \($dir/known_hosts:2\)"
done
trust "@cert-authority * $ca"
public "$dir/ca-ed25519" > "$dir/revoked_keys"
sed "1i RevokedHostKeys $dir/revoked_keys" "$dir/ssh_config" > "$dir/other_config"
cp "$dir/ssh_config" "$dir/good_config"
mv "$dir/other_config" "$dir/ssh_config"
run "an authority among the RevokedHostKeys" 127.0.0.2
want_status 69
want 'is revoked'
cp "$dir/good_config" "$dir/ssh_config"
certify -s "$dir/ca-ed25519" -V 20200101:20200201
run "out of date" 127.0.0.2
want_status 69
want 'its certificate web-7 is refused: it was valid until 2020-0'
certify -s "$dir/ca-ed25519" -V +10d:+20d
run "too early" 127.0.0.2
want_status 69
want 'its certificate web-7 is refused: it is not valid before 20'
certify -s "$dir/ca-ed25519"
run "a certificate without names is for every host" 127.0.0.2 127.0.0.3 127.0.0.4
want_status 0
sed '1i HostKeyAlgorithms ssh-ed25519-cert-v01@openssh.com' "$dir/good_config" > "$dir/ssh_config"
run "HostKeyAlgorithms with certificates alone" 127.0.0.2
want_status 0
cp "$dir/good_config" "$dir/ssh_config"
restart "HostCertificate $dir/$host-cert.pub" "RekeyLimit 1M"
run "key exchanges on the way" -b 5000000 -c cat 127.0.0.2
want_status 0
want 'received=5000000'
rm "$dir/$host-cert.pub"
ssh-keygen -q -I someone -n 127.0.0.2 -s "$dir/ca-ed25519" "$dir/$host.pub"
restart
run "a host without a certificate" 127.0.0.2
want_status 69
want "is unknown; $dir/known_hosts:1 names an authority for it, but it shows no certificate; check"

ssh-keygen -q -h -I web-7 -s "$dir/ca-ed25519" "$dir/host-ed25519.pub"
cp "$dir/other_key" "$dir/host_key"
restart "HostKey $dir/host-ed25519" "HostCertificate $dir/host-ed25519-cert.pub"
run "a certificate of the second key" 127.0.0.2
want_status 69
want "is unknown; its certificate is for another key of the host; check"

[ "$failures" -eq 0 ] && echo "ssh certificates: all cases passed" || { echo "$failures failed"; exit 1; }
