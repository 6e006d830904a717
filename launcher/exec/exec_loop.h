// The loop of one `dslaunch exec`: what happens goes to ExecState, what it decides is done. Private
// to this folder.
#pragma once

#include <asio/io_context.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/exec/exec_input.h"
#include "launcher/exec/exec_run.h"
#include "launcher/job/job_control.h"
#include "launcher/job/node_link.h"
#include "launcher/job/wake_timer.h"

namespace ds::launcher::exec {

class Exec {
 public:
  Exec(asio::io_context& io, ExecRequest request, ExecHooks hooks);
  ExecOutcome run();

 private:
  void feed(const Event& event);
  void on_message(int node, Message& message);
  void on_hello(int node, const Hello& hello);
  void wait_for_signal();
  void arm_timer();

  void perform(const OpenNode& action);
  void perform(const SendCommand& action);
  void perform(const StartCommand& action);
  void perform(const StopCommand& action) {
    send(action.node, Stop{static_cast<std::uint32_t>(action.grace.count())});
  }
  void perform(const KillCommand& action) { send(action.node, Kill{}); }
  void perform(const CloseNode& action);
  void perform(const BeatAll&);
  void perform(const SuspendAll&) { send_all(Suspend{}); }
  void perform(const StopSelf&);
  void perform(const ResumeAll&) { send_all(Resume{}); }
  void perform(const Tell& action) { say("dslaunch: " + action.text); }
  void perform(const Leave&);

  void send(int node, const Message& message);
  void send_all(const Message& message);
  void say(const std::string& lines);
  [[nodiscard]] JobControl::Hooks control_hooks();
  void leave_when_over();
  void lose_output(const std::string& why);
  void stop_self(Clock::time_point latest);
  [[nodiscard]] ProgramSpec program_of(int node) const;
  std::unique_ptr<NodeLink>& link(int node) { return links_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const std::string& name(int node) const {
    return names_[static_cast<std::size_t>(node)];
  }

  asio::io_context& io_;
  ExecRequest request_;
  ExecHooks hooks_;
  std::vector<std::string> names_;
  std::vector<ProgramSpec> programs_;  // by node, once its agent has greeted
  JobIdentity identity_;
  ExecState state_;
  std::vector<std::unique_ptr<NodeLink>> links_;  // by node; nothing before it is opened and after
  WakeTimer timer_;
  asio::steady_timer suspend_timer_;
  asio::signal_set signals_;
  ExecOutput output_;
  std::optional<ExecInput> input_;
  JobControl control_;
  bool left_ = false;
  // After the end: all output is written, clients of the private socket have it too.
  bool written_ = false;
  bool drained_ = false;
};

}  // namespace ds::launcher::exec
