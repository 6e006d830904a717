// Reads a pass phrase from the terminal with echo off, or from the program of SSH_ASKPASS.
#include "launcher/transport/ssh/ask_pass.h"

#include <fcntl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "engine/base/unique_fd.h"
#include "launcher/transport/child_process.h"
#include "launcher/transport/ssh/ssh_files.h"

namespace ds::launcher {
namespace {

constexpr std::chrono::minutes kProgramLimit{2};
constexpr std::size_t kMostTyped = 1024;
constexpr std::array kSignals = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};

volatile std::sig_atomic_t caught = 0;
void note_signal(int signo) { caught = signo; }

UniqueFd open_terminal() {
  UniqueFd tty(::open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY));
  // In the background, touching it would stop us.
  return tty && ::tcgetpgrp(tty.get()) == ::getpgrp() ? std::move(tty) : UniqueFd();
}

/// While it lives, the terminal does not echo, and signals are recorded instead of delivered.
class QuietTerminal {
 public:
  explicit QuietTerminal(int fd) : fd_(fd) {
    caught = 0;
    struct sigaction note {};
    note.sa_handler = note_signal;  // without SA_RESTART, so that read() ends
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], nullptr, &old_[i]);
      if (old_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &note, nullptr);
    }
    quiet_ = ::tcgetattr(fd_, &modes_) == 0;
    if (!quiet_) return;
    termios quiet = modes_;
    quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    quiet.c_lflag |= ECHONL | ICANON | ISIG;
    quiet_ = ::tcsetattr(fd_, TCSAFLUSH, &quiet) == 0;
  }
  QuietTerminal(const QuietTerminal&) = delete;
  QuietTerminal& operator=(const QuietTerminal&) = delete;
  ~QuietTerminal() {
    if (quiet_) ::tcsetattr(fd_, TCSAFLUSH, &modes_);
    for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &old_[i], nullptr);
  }
  [[nodiscard]] bool quiet() const { return quiet_; }

 private:
  int fd_;
  bool quiet_ = false;
  termios modes_{};
  std::array<struct sigaction, kSignals.size()> old_{};
};

/// Reads a line; returns nothing at the end of the input and after a signal.
std::optional<std::string> read_line(int fd) {
  std::string line;
  char letter = 0;
  while (caught == 0) {
    const ssize_t count = ::read(fd, &letter, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    if (letter == '\n') return line;
    if (line.size() < kMostTyped) line += letter;
  }
  ::explicit_bzero(line.data(), line.size());
  return std::nullopt;
}

std::optional<std::string> ask_terminal(const std::string& prompt) {
  while (true) {
    const UniqueFd tty = open_terminal();
    if (!tty) return std::nullopt;
    std::optional<std::string> line;
    {
      const QuietTerminal terminal(tty.get());
      if (!terminal.quiet()) return std::nullopt;
      if (::write(tty.get(), prompt.data(), prompt.size()) < 0) return std::nullopt;
      line = read_line(tty.get());
    }
    if (caught == 0) return line;
    ::raise(caught);  // may well be our end
    if (caught != SIGTSTP) return std::nullopt;
  }
}

std::optional<std::string> ask_program(const std::string& prompt) {
  const char* program = std::getenv("SSH_ASKPASS");
  if (program == nullptr) return std::nullopt;
  std::string output;
  const auto status = run_program({program, prompt}, kProgramLimit, &output);
  const std::string line = output.substr(0, output.find_first_of("\r\n"));
  ::explicit_bzero(output.data(), output.size());
  return status && status->success() ? std::optional(line) : std::nullopt;
}

}  // namespace

AskMethod choose_ask_method(
    const std::function<std::optional<std::string>(const std::string&)>& environment,
    bool terminal) {
  const auto value = [&](const char* name) { return environment(name).value_or(""); };
  const bool program = !value("SSH_ASKPASS").empty();
  const bool display = !value("DISPLAY").empty() || !value("WAYLAND_DISPLAY").empty();
  const std::string require = to_lower(value("SSH_ASKPASS_REQUIRE"));
  if (require == "force") return program ? AskMethod::program : AskMethod::none;
  if (require == "prefer" && program && display) return AskMethod::program;
  if (terminal) return AskMethod::terminal;
  return program && display && require != "never" ? AskMethod::program : AskMethod::none;
}

AskMethod ask_method() {
  return choose_ask_method(environment_value, static_cast<bool>(open_terminal()));
}

std::optional<std::string> ask_pass_phrase(const std::string& prompt) {
  const AskMethod method = ask_method();
  if (method == AskMethod::none) return std::nullopt;
  return method == AskMethod::terminal ? ask_terminal(prompt) : ask_program(prompt);
}

}  // namespace ds::launcher
