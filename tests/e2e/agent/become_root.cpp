// become_root FILE: becomes root for good, if the file's mode lets it (as su and sudo do), makes
// FILE, and sleeps through TERM for a minute.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  if (::setgid(0) != 0 || ::setuid(0) != 0) return 1;
  ::signal(SIGTERM, SIG_IGN);
  ::close(::open(argv[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  ::sleep(60);
}
