#include "launcher/exec/exec_input.h"

#include <sys/stat.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <utility>

namespace ds::launcher::exec {

bool has_input(int fd) {
  struct stat input {
  }, null{};
  if (::fstat(fd, &input) != 0 || ::isatty(fd) == 1) return false;
  const bool is_null =
      ::stat("/dev/null", &null) == 0 && S_ISCHR(input.st_mode) && input.st_rdev == null.st_rdev;
  return !is_null;
}

void ExecInput::started(int node) {
  share_.started(node);
  if (!reader_) {
    reader_ = std::make_unique<InputReader>(fd_, [this](std::vector<std::byte> bytes, bool last) {
      asio::post(io_, [this, bytes = std::move(bytes), last] { came(bytes, last); });
    });
  }
  send_to(node);
  allow();
}

void ExecInput::left(int node) {
  share_.left(node);
  allow();
}

void ExecInput::taken(int node, std::uint64_t bytes) {
  share_.taken(node, bytes);
  send_to(node);
  allow();
}

void ExecInput::came(const std::vector<std::byte>& bytes, bool last) {
  store_.add(bytes);
  share_.read(bytes.size(), last);
  for (int node = 0; node < nodes_; ++node) send_to(node);
  allow();
}

void ExecInput::send_to(int node) {
  const auto piece = share_.next(node);
  if (!piece) return;
  const std::vector<std::byte> bytes = store_.get(piece->from, piece->count);
  send_(node, {.rank = -1, .last = piece->last, .bytes = bytes});
}

void ExecInput::allow() {
  store_.forget(share_.needed_from());
  if (reader_) reader_->allow(share_.room());
}

}  // namespace ds::launcher::exec
