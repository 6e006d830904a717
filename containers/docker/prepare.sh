#!/bin/sh
# Runs once in an image, as root: creates the user mpiuser, the links to dslaunch, and sshd as operators start it.
set -eu
here=/opt/dslaunch

# uid 1000 has no password but is not locked, because an sshd without PAM refuses locked users.
useradd --uid 1000 --create-home --shell /bin/bash --password '*' mpiuser

# These names of other launchers come first in PATH, before real ones that an image based on this one may install.
for name in dslaunch dsrunner; do ln -s "$here/bin/$name" "/usr/local/bin/$name"; done
for name in torchrun mpirun mpiexec mpiexec.hydra deepspeed; do ln -s "$here/bin/dslaunch" "/usr/local/bin/$name"; done

# Operators start /usr/sbin/sshd. Our script starts OpenSSH's server with the job's key as host key, whatever modes its volume has.
mv /usr/sbin/sshd /usr/sbin/sshd.openssh
install -m 755 "$here/ssh/sshd" /usr/sbin/sshd
install -m 644 "$here/ssh/sshd_config" /etc/ssh/sshd_config
install -D -m 644 "$here/ssh/ssh_config" /etc/ssh/ssh_config.d/dslaunch.conf
install -m 644 -o mpiuser -g mpiuser "$here/ssh/mpiuser.sshd_config" /home/mpiuser/.sshd_config
install -d -m 755 /run/sshd
install -d -m 700 /root/.ssh
install -d -m 700 -o mpiuser -g mpiuser /home/mpiuser/.ssh
rm -rf "$here/ssh" "$here/prepare.sh" /etc/ssh/ssh_host_*
ldconfig
