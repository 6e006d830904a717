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
#include "launcher/job/job_facts.h"
#include "launcher/job/node_link.h"
#include "launcher/job/verdict.h"

namespace ds::launcher {
namespace {

class Probe {
 public:
  Probe(asio::io_context& io, const std::vector<Host>& hosts, const std::vector<NodeRoute>& routes)
      : io_(io), hosts_(hosts), hellos_(hosts.size()), reasons_(hosts.size()), timer_(io) {
    for (std::size_t i = 0; i < hosts.size(); ++i) {
      links_.push_back(std::make_unique<NodeLink>(
          hosts[i].name, Envelope{},
          NodeLink::Events{.on_heard = [] {},
                           .on_message = [this, i](Message& message) { on_message(i, message); },
                           .on_lost = [this, i](std::string why) { fail(i, std::move(why)); }}));
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
      return fail(host, version_reason(hosts_[host].name, *hello));
    hellos_[host] = std::move(*hello);
    done(host);
  }

  void fail(std::size_t host, std::string reason) {
    reasons_[host] = std::move(reason);
    done(host);
  }

  void done(std::size_t host) {
    links_[host]->close();  // nothing more comes from it
    ++answered_;
    // We are inside an event of this very link.
    if (answered_ == hosts_.size()) asio::post(io_, [this] { io_.stop(); });
  }

  void report() const {
    std::string list;
    std::size_t bad = 0;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
      if (hellos_[i]) continue;
      ++bad;
      const std::string reason =
          reasons_[i].empty() ? hosts_[i].name + ": no answer in time" : reasons_[i];
      list += "\n  " + printable(reason);
    }
    if (bad > 0)
      throw Error(ErrorKind::unreachable,
                  fmt::format("{} of {} hosts with slots=auto cannot be asked what they have:{}",
                              bad, hosts_.size(), list));
  }

  asio::io_context& io_;
  const std::vector<Host>& hosts_;
  std::vector<std::optional<Hello>> hellos_;
  std::vector<std::string> reasons_;
  std::vector<std::unique_ptr<NodeLink>> links_;
  asio::steady_timer timer_;
  std::size_t answered_ = 0;
};

}  // namespace

std::vector<Hello> probe_hosts(asio::io_context& io, const std::vector<Host>& hosts,
                               const std::vector<NodeRoute>& routes,
                               std::chrono::milliseconds limit) {
  std::signal(SIGPIPE, SIG_IGN);
  return Probe(io, hosts, routes).run(limit);
}

}  // namespace ds::launcher
