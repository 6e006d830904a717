#include "launcher/join/join_link.h"

#include <asio/post.hpp>
#include <utility>

namespace ds::launcher {

namespace {

class JoinChannel final : public Channel {
 public:
  explicit JoinChannel(std::shared_ptr<JoinLink> link) : link_(std::move(link)) {}
  ~JoinChannel() override { link_->abandon(); }
  JoinChannel(const JoinChannel&) = delete;
  JoinChannel& operator=(const JoinChannel&) = delete;
  void send(Bytes bytes) override { link_->send(std::move(bytes)); }
  [[nodiscard]] std::size_t unsent() const override { return link_->unsent(); }
  [[nodiscard]] std::string peer_address() const override { return link_->peer_address(); }
  void close() override { link_->close(); }

 private:
  std::shared_ptr<JoinLink> link_;
};

}  // namespace

void JoinLink::begin(std::shared_ptr<JoinConnection> connection, std::uint32_t session,
                     std::string address) {
  connection_ = std::move(connection);
  session_ = session;
  address_ = std::move(address);
  state_ = State::begun;
  connection_->send(StartAgent{session_});
  connection_->send_bytes(session_, early_);
  early_ = {};
  if (closing_) connection_->send(AgentClosed{session_, {}});
}

void JoinLink::refuse(const std::string& why) {
  asio::post(io_, [self = shared_from_this(), why] {
    self->end({ChannelEnd::Kind::unreachable, why, stage::kConfig});
  });
}

void JoinLink::lose(const std::string& why) {
  if (state_ == State::begun) end({ChannelEnd::Kind::lost, why, stage::kRunning});
}

void JoinLink::on_bytes(const AgentBytes& bytes) {
  if (state_ != State::begun || bytes.session != session_) return;
  if (events_.on_bytes) events_.on_bytes(bytes.bytes);
}

void JoinLink::on_closed(const AgentClosed& closed) {
  if (state_ != State::begun || closed.session != session_) return;
  if (closed.problem.empty()) return end({ChannelEnd::Kind::closed, {}});
  end({ChannelEnd::Kind::lost, closed.problem, stage::kRunning});
}

void JoinLink::send(Bytes bytes) {
  if (state_ == State::begun) return connection_->send_bytes(session_, bytes);
  if (state_ == State::waiting) early_.insert(early_.end(), bytes.begin(), bytes.end());
}

std::size_t JoinLink::unsent() const {
  return state_ == State::begun ? connection_->unsent() : early_.size();
}

void JoinLink::close() {
  if (std::exchange(closing_, true)) return;
  if (state_ == State::begun) connection_->send(AgentClosed{session_, {}});
  // The place is empty, so no answer is awaited.
  if (state_ == State::waiting)
    asio::post(io_, [self = shared_from_this()] {
      if (self->waits()) self->end({ChannelEnd::Kind::closed, {}});
    });
}

void JoinLink::abandon() {
  const State was = std::exchange(state_, State::ended);
  if (was != State::begun) return;
  if (!closing_) connection_->send(AgentClosed{session_, {}});
}

void JoinLink::end(ChannelEnd how) {
  if (std::exchange(state_, State::ended) == State::ended) return;
  if (events_.on_end) events_.on_end(std::move(how));
}

std::unique_ptr<Channel> make_join_channel(std::shared_ptr<JoinLink> link) {
  return std::make_unique<JoinChannel>(std::move(link));
}

}  // namespace ds::launcher
