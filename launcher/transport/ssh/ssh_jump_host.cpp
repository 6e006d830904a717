// Distributes targets over the connections of a jump host.
#include "launcher/transport/ssh/ssh_jump_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

namespace ds::launcher {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t kMostLines = 64;
constexpr auto kIdle = 500ms;  // an unused connection is closed then

}  // namespace

struct JumpHost::Line {
  enum class State { opening, up, over };
  std::unique_ptr<SshApproach> approach;
  std::unique_ptr<SshJump> jump;
  State state = State::opening;
  std::vector<std::shared_ptr<JumpRequest>> asked;  // requests without an answer yet
};

JumpHost::JumpHost(SshExchange& exchange, std::span<const SshSettings> jumps)
    : exchange_(exchange),
      jumps_(jumps.begin(), jumps.end()),
      room_(exchange.options.jump_room),
      idle_timer_(exchange.io) {}

JumpHost::~JumpHost() = default;

void JumpHost::ask(std::shared_ptr<JumpRequest> request) {
  request->timer = std::make_unique<asio::steady_timer>(exchange_.io);
  waiting_.push_back(std::move(request));
  pump();
}

void JumpHost::pump() {
  std::erase_if(waiting_, [](const auto& request) { return !request->done; });
  while (!waiting_.empty()) {
    const auto free = std::ranges::find_if(lines_, [this](const auto& line) {
      return line->state == Line::State::up && line->jump->forwards() < room_;
    });
    if (free == lines_.end()) break;
    const auto request = std::move(waiting_.front());
    waiting_.pop_front();
    forward(**free, request);
  }
  const bool opening = std::ranges::any_of(
      lines_, [](const auto& line) { return line->state == Line::State::opening; });
  if (!waiting_.empty() && !opening && lines_.size() < kMostLines) open_line();
  close_when_idle();
}

void JumpHost::open_line() {
  lines_.push_back(std::make_unique<Line>());
  Line& line = *lines_.back();
  const std::span<const SshSettings> before(jumps_.data(), jumps_.size() - 1);
  line.approach = std::make_unique<SshApproach>(
      exchange_, settings(), before,
      SshApproach::Events{
          .on_socket =
              [this, &line](Reached reached) {
                SshJumpEvents events;
                events.login = exchange_.login_events(settings(), reached);
                events.on_up = [this, &line] { line_up(line); };
                events.on_end = [this, &line](const SshLinkEnd& end) {
                  // A connection that was up is not retried; its targets dial again.
                  if (line.state == Line::State::up) return line_failed(line, end.end);
                  line.approach->ended(end);
                };
                line.jump = make_ssh_jump(exchange_.io, *exchange_.keyring,
                                          exchange_.login(settings(), reached), std::move(events));
              },
          .on_failed = [this, &line](const ChannelEnd& end) { line_failed(line, end); }});
  line.approach->start();
}

void JumpHost::line_up(Line& line) {
  line.state = Line::State::up;
  pump();
}

void JumpHost::line_failed(Line& line, const ChannelEnd& end) {
  Reached reached;
  reached.stage = end.stage;
  reached.problem = fmt::format("jump host {}: {}", settings().alias, end.reason);
  std::vector<std::shared_ptr<JumpRequest>> failed = std::move(line.asked);
  const bool was_up = std::exchange(line.state, Line::State::over) == Line::State::up;
  // The object must live until its event returns.
  asio::post(exchange_.io, [this, &line, life = std::weak_ptr(life_)] {
    if (!life.expired())
      std::erase_if(lines_, [&line](const auto& other) { return other.get() == &line; });
  });
  if (!was_up) {
    failed.insert(failed.end(), waiting_.begin(), waiting_.end());
    waiting_.clear();
  }
  for (const auto& request : failed) {
    Reached copy;
    copy.stage = reached.stage;
    copy.problem = reached.problem;
    answer(request, std::move(copy));
  }
}

void JumpHost::forward(Line& line, const std::shared_ptr<JumpRequest>& request) {
  line.asked.push_back(request);
  request->timer->expires_after(request->limit);
  request->timer->async_wait([request, name = settings().alias](const asio::error_code& error) {
    if (error) return;
    Reached reached;
    reached.stage = stage::kConnect;
    reached.problem =
        fmt::format("jump host {} did not reach {} port {} within {} s", name, request->host,
                    request->port, std::chrono::duration<double>(request->limit).count());
    answer(request, std::move(reached));
  });
  line.jump->forward(request->host, request->port, [this, &line, request](Forwarded result) {
    answered(line, request, std::move(result));
  });
}

void JumpHost::answered(Line& line, const std::shared_ptr<JumpRequest>& request, Forwarded result) {
  request->timer->cancel();
  std::erase(line.asked, request);
  if (result.no_room && line.jump->forwards() > 0 && request->done) {
    room_ = std::min(room_, line.jump->forwards());
    waiting_.push_front(request);
    return pump();
  }
  Reached reached;
  reached.socket = std::move(result.socket);
  if (!reached.socket) {
    reached.stage = stage::kConnect;
    reached.problem = fmt::format("jump host {} cannot connect to {} port {}: {}", settings().alias,
                                  request->host, request->port, result.problem);
  }
  answer(request, std::move(reached));
  close_when_idle();
}

void JumpHost::answer(const std::shared_ptr<JumpRequest>& request, Reached reached) {
  request->timer->cancel();
  if (const auto done = std::exchange(request->done, nullptr)) done(std::move(reached));
}

void JumpHost::close_when_idle() {
  if (lines_.empty()) return;
  idle_timer_.expires_after(kIdle);
  idle_timer_.async_wait([this, life = std::weak_ptr(life_)](const asio::error_code& error) {
    if (error || life.expired()) return;
    if (waiting_.empty())
      std::erase_if(lines_, [](const auto& line) {
        return line->state == Line::State::up && line->jump->forwards() == 0;
      });
    close_when_idle();
  });
}

}  // namespace ds::launcher
