// One link a host until each has greeted or is given up.
#include "launcher/job/node_probe.h"

#include <fmt/format.h>

#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "engine/base/error.h"
#include "launcher/hosts/bad_hosts.h"
#include "launcher/job/job_facts.h"
#include "launcher/job/node_link.h"

namespace ds::launcher {
namespace {

class NodeProbe {
 public:
  NodeProbe(asio::io_context& io, const std::vector<Host>& hosts,
            const std::vector<NodeRoute>& routes)
      : io_(io),
        hosts_(hosts),
        hellos_(hosts.size()),
        reasons_(hosts.size()),
        stages_(hosts.size()),
        timer_(io) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      links_.push_back(std::make_unique<NodeLink>(
          hosts[i].name, Envelope{},
          NodeLink::Events{.on_heard = [] {},
                           .on_message = [this, i](Message& message) { on_message(i, message); },
                           .on_lost =
                               [this, i](std::string why, std::string stage) {
                                 fail(i, std::move(why), std::move(stage));
                               }}));
      links_.back()->open(*routes[i].transport, hosts[i]);
    }
  }

  std::vector<Hello> run(std::chrono::milliseconds limit) {
    timer_.expires_after(limit);
    timer_.async_wait([this](const asio::error_code& error) {
      if (!error) io_.stop();
    });
    io_.run();
    links_.clear();
    timer_.cancel();
    io_.restart();
    io_.poll();  // What the links and the timer have left.
    io_.restart();
    report();
    std::vector<Hello> hellos;
    for (auto& hello : hellos_) hellos.push_back(std::move(*hello));
    return hellos;
  }

 private:
  void on_message(std::size_t host, Message& message) {
    auto* hello = std::get_if<Hello>(&message);
    if (hello == nullptr) return;
    if (hello->version != kWireVersion)
      return fail(host, version_reason(hosts_[host].name, *hello), stage::kStart);
    hellos_[host] = std::move(*hello);
    done(host);
  }

  void fail(std::size_t host, std::string reason, std::string stage) {
    reasons_[host] = std::move(reason);
    stages_[host] = std::move(stage);
    done(host);
  }

  void done(std::size_t host) {
    links_[host]->close();  // nothing more comes from it
    ++answered_;
    // We are inside an event of this very link.
    if (answered_ == hosts_.size()) asio::post(io_, [this] { io_.stop(); });
  }

  void report() const {
    std::vector<BadHost> bad;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (hellos_[i]) continue;
      bad.push_back(
          {hosts_[i].name, stages_[i], reasons_[i].empty() ? "no answer in time" : reasons_[i]});
    }
    if (!bad.empty())
      throw Error(ErrorKind::unreachable,
                  fmt::format("{} of {} hosts with slots=auto cannot be asked what they have:\n{}",
                              bad.size(), hosts_.size(), bad_hosts_table(bad, "  ")));
  }

  asio::io_context& io_;
  const std::vector<Host>& hosts_;
  std::vector<std::optional<Hello>> hellos_;
  std::vector<std::string> reasons_;
  std::vector<std::string> stages_;
  std::vector<std::unique_ptr<NodeLink>> links_;
  asio::steady_timer timer_;
  std::size_t answered_ = 0;
};

}  // namespace

std::vector<Hello> probe_hosts(asio::io_context& io, const std::vector<Host>& hosts,
                               const std::vector<NodeRoute>& routes,
                               std::chrono::milliseconds limit) {
  std::signal(SIGPIPE, SIG_IGN);
  return NodeProbe(io, hosts, routes).run(limit);
}

}  // namespace ds::launcher
