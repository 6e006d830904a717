// Starts programs in sessions of their own: one that talks over a socket, or one that runs to its
// end.
#pragma once

#include <asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/exit_status.h"
#include "engine/base/unique_fd.h"

namespace ds::launcher {

struct ChildEvents {
  std::function<void(std::string_view)> on_stderr;
  std::function<void(ExitStatus)> on_exit;  // once, after all of its standard error
};

/// Dropping it kills the program and what it started in its session, and reaps it.
class ChildProcess {
 public:
  virtual ~ChildProcess() = default;
  /// To be called when the socket has broken. If the program ends within 20 ms, on_exit comes from
  /// inside this call.
  virtual void settle() = 0;
};

struct StartedChild {
  UniqueFd socket;  // non-blocking, close-on-exec
  std::shared_ptr<ChildProcess> process;
  std::string problem{};  // set if it could not be started
};

/// Starts argv[0], found on PATH, in a session of its own: a Ctrl-C at the terminal does not reach
/// the program, and it cannot ask for input there. The socket is its standard
/// input and output.
/// Threads: the io_context's; events never come from inside the call.
StartedChild start_child(asio::io_context& io, const std::vector<std::string>& argv,
                         ChildEvents events);

/// Runs argv[0], found on PATH, to its end, without terminal and input; its standard error is ours.
/// Takes at most 64 KiB of its standard output, or discards it if `output` is null. At the limit
/// all processes of its session are killed. Returns nothing then, and if it could not be started.
/// Blocks, so it is called before an event loop runs.
std::optional<ExitStatus> run_program(const std::vector<std::string>& argv,
                                      std::chrono::milliseconds limit,
                                      std::string* output = nullptr);

}  // namespace ds::launcher
