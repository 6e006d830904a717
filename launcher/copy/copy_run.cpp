#include "launcher/copy/copy_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <utility>

#include "engine/base/deadline.h"
#include "engine/base/error.h"
#include "launcher/copy/copy_source.h"
#include "launcher/copy/gather_role.h"
#include "launcher/copy/send_role.h"

namespace ds::launcher::copy {
namespace {

constexpr std::chrono::milliseconds kProgressPeriod{500};
constexpr std::size_t kMostSaid = 4096;

void write_error(const std::string& text) {
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

std::uint64_t random_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

/// Joins the programs on the nodes with the role of the root.
class CopyRun : public exec::ProgramInput {
 public:
  CopyRun(asio::io_context& io, CopyRequest request)
      : io_(io), request_(std::move(request)), progress_timer_(io) {
    context_.names = exec::node_names(request_.exec.hosts);
    const std::size_t nodes = context_.names.size();
    context_.streams.resize(nodes);
    context_.outcomes.resize(nodes);
    context_.say = [this](const std::string& line) { say("dslaunch: " + line + "\n"); };
    context_.work_later = [this] { work_later(); };
    context_.flush = [this](int node) { context_.stream(node).flush(node, send_); };
    decoders_.resize(nodes);
    said_.resize(nodes);
    addresses_.resize(nodes);
    request_.task.seed = random_seed();
    make_role();
  }

  int run() {
    exec::ExecHooks hooks;
    hooks.input = this;
    hooks.program = [](int, const Hello& hello) {
      ProgramSpec program;
      program.argv = {fmt::format("/proc/{}/exe", hello.pid), "copy-node"};
      program.at_home = true;
      return program;
    };
    hooks.reached = [this](int node, const std::string& address) {
      addresses_[static_cast<std::size_t>(node)] = address;
    };
    hooks.take = [this](int node, const Output& output) { take(node, output); };
    begun_ = Clock::now();
    if (request_.progress) show_progress();
    exec::ExecOutcome outcome = exec::run_exec(io_, std::move(request_.exec), std::move(hooks));
    return report(outcome);
  }

  void begin(Send send) override { send_ = std::move(send); }
  void started(int node) override {
    context_.stream(node).start();
    role_->pump(node);
  }
  void taken(int node, std::uint64_t bytes) override {
    context_.stream(node).taken(bytes);
    role_->pump(node);
  }
  void left(int node) override {
    context_.stream(node).leave();
    role_->left(node);
  }

 private:
  void make_role() {
    if (request_.task.gather) {
      role_ = std::make_unique<GatherRole>(context_, request_.task, request_.target);
      return;
    }
    SourceList list = list_sources(request_.sources, request_.task.recursive);
    if (!list.problem.empty())
      throw Error(ErrorKind::config, "cannot copy " + list.problem, "nothing was copied");
    skipped_ = std::move(list.skipped);
    role_ = std::make_unique<SendRole>(
        context_, request_.task, std::move(list), CopyTree(request_.children),
        [this](int node) { return addresses_[static_cast<std::size_t>(node)]; });
  }
  void take(int node, const Output& output) {
    const auto index = static_cast<std::size_t>(node);
    if (output.stream != 1) {
      if (said_[index].size() < kMostSaid)
        said_[index].append(reinterpret_cast<const char*>(output.bytes.data()),
                            output.bytes.size());
      return;
    }
    CopyDecoder& decoder = decoders_[index];
    decoder.feed(output.bytes);
    while (const auto message = decoder.next()) role_->on_message(node, *message);
    if (decoder.error()) context_.finish(node, *decoder.error());
  }
  void work_later() {
    if (std::exchange(work_posted_, true)) return;
    asio::post(io_, [this] {
      work_posted_ = false;
      role_->work();
    });
  }
  void say(const std::string& lines) {
    write_error(request_.progress ? "\r\033[K" + lines : lines);
  }
  void show_progress() {
    progress_timer_.expires_after(kProgressPeriod);
    progress_timer_.async_wait([this](const asio::error_code& error) {
      if (error) return;
      write_error("\r\033[K" + progress_text(context_.outcomes, spent()));
      show_progress();
    });
  }
  [[nodiscard]] std::chrono::milliseconds spent() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begun_);
  }
  int report(exec::ExecOutcome& outcome) {
    join_results(context_.outcomes, outcome.results, said_);
    std::string text = failures_text(context_.names, context_.outcomes);
    text += remarks_text(context_.names, context_.outcomes, said_);
    text += grown_text(context_.grown, context_.names, context_.outcomes);
    if (!skipped_.empty()) text += fmt::format("dslaunch: {}\n", printable(skipped_));
    const std::string nodes = exec::results_text(context_.names, outcome.results);
    if (!nodes.empty()) text += nodes + "\n";
    const char* const way = request_.task.gather ? "from" : "to";
    text += fmt::format("dslaunch: {}\n", summary_text(context_.outcomes, way, spent()));
    say(text);
    if (outcome.code != 0) return outcome.code;
    const int code = copy_code(context_.outcomes, outcome.results);
    return code == 0 && !skipped_.empty() ? 1 : code;
  }

  asio::io_context& io_;
  CopyRequest request_;
  asio::steady_timer progress_timer_;
  RoleContext context_;
  std::unique_ptr<CopyRole> role_;
  Send send_;
  std::vector<CopyDecoder> decoders_;
  std::vector<std::string> said_;
  std::vector<std::string> addresses_;
  std::string skipped_;  // what copy leaves out
  Clock::time_point begun_{};
  bool work_posted_ = false;
};

}  // namespace

int run_copy(asio::io_context& io, CopyRequest request) {
  return CopyRun(io, std::move(request)).run();
}

}  // namespace ds::launcher::copy
