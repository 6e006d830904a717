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
#include "launcher/transport/run_program.h"
#include "launcher/transport/ssh_config/ssh_config_choose.h"

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
  ProgramEnd end = run_program({program, prompt}, kProgramLimit, ProgramOutput::taken);
  if (!end.status || !end.status->success()) return std::nullopt;
  const std::string line = end.output.substr(0, end.output.find_first_of("\r\n"));
  ::explicit_bzero(end.output.data(), end.output.size());
  return line;
}

}  // namespace

AskWay choose_ask_way(
    const std::function<std::optional<std::string>(const std::string&)>& environment,
    bool terminal) {
  const auto value = [&](const char* name) { return environment(name).value_or(""); };
  const bool program = !value("SSH_ASKPASS").empty();
  const bool display = !value("DISPLAY").empty() || !value("WAYLAND_DISPLAY").empty();
  const std::string require = ssh_lower(value("SSH_ASKPASS_REQUIRE"));
  if (require == "force") return program ? AskWay::program : AskWay::none;
  if (require == "prefer" && program && display) return AskWay::program;
  if (terminal) return AskWay::terminal;
  return program && display && require != "never" ? AskWay::program : AskWay::none;
}

AskWay ask_way() {
  return choose_ask_way(
      [](const std::string& name) -> std::optional<std::string> {
        const char* value = std::getenv(name.c_str());
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
      },
      static_cast<bool>(open_terminal()));
}

std::optional<std::string> ask_pass_phrase(const std::string& prompt) {
  switch (ask_way()) {
    case AskWay::none:
      return std::nullopt;
    case AskWay::terminal:
      return ask_terminal(prompt);
    case AskWay::program:
      return ask_program(prompt);
  }
  return std::nullopt;
}

}  // namespace ds::launcher
