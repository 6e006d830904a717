// ControlSession: reads requests, writes answers and output of one client, never blocks.
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher/control/control_server.h"

namespace ds::launcher {
namespace {

/// Limits after which a client is dropped: without a request, and without reading.
constexpr std::chrono::seconds kSilentFor{10};
constexpr std::chrono::seconds kStuckFor{30};
/// Time for a node to send the last output of a hidden rank; an ended node never does.
constexpr std::chrono::seconds kAnswerWithin{1};
/// Maximum number of bytes taken from the ring at once.
constexpr std::size_t kChunk = std::size_t{64} << 10;

bool is_own_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
         peer.uid == ::geteuid();
}

}  // namespace

ControlSession::ControlSession(Socket socket, std::shared_ptr<ControlContext> context,
                               std::function<void(const ControlSession*)> on_closed)
    : socket_(std::move(socket)),
      context_(std::move(context)),
      on_closed_(std::move(on_closed)),
      patience_(socket_.get_executor()),
      answer_timer_(socket_.get_executor()) {}

void ControlSession::start() {
  if (!is_own_user(socket_.native_handle())) return refuse("this job belongs to another user");
  drop_after(kSilentFor);
  read();
}

void ControlSession::close() {
  if (std::exchange(closed_, true)) return;
  asio::error_code ignored;
  socket_.close(ignored);
  patience_.cancel();
  answer_timer_.cancel();
  const auto watched = context_->watched.find(watches_.value_or(-1));
  if (watched != context_->watched.end() && --watched->second.clients == 0) {
    context_->watched.erase(watched);
    if (context_->hooks.watch) context_->hooks.watch(*watches_, false);
  }
  watches_.reset();
  if (const auto on_closed = std::exchange(on_closed_, {})) on_closed(this);
}

void ControlSession::drop_after(std::chrono::seconds span) {
  patience_.expires_after(span);
  patience_.async_wait([self = shared_from_this()](const asio::error_code& error) {
    if (!error) self->close();
  });
}

// Requests.

void ControlSession::read() {
  socket_.async_read_some(
      asio::buffer(input_),
      [self = shared_from_this()](const asio::error_code& error, std::size_t count) {
        if (error || self->closed_) return self->close();
        self->decoder_.feed(std::span(self->input_).first(count));
        while (const auto message = self->decoder_.next()) self->on_message(*message);
        if (self->decoder_.broken()) self->refuse("unknown request");
        if (!self->closed_ && !self->last_) self->read();
      });
}

void ControlSession::on_message(const ControlMessage& message) {
  if (closed_ || last_) return;
  if (!writing_) patience_.cancel();
  std::visit(
      [this](const auto& known) {
        if constexpr (requires { known.version; }) {
          if (known.version != kControlVersion)
            return refuse(
                fmt::format("protocol version mismatch: the job's dslaunch speaks version {}, "
                            "yours version {}",
                            kControlVersion, known.version));
        }
        on_request(known);
      },
      message);
}

void ControlSession::on_request(const InfoRequest& /*request*/) { answer(context_->hooks.info()); }

void ControlSession::on_request(const SignalRequest& request) {
  std::optional<std::chrono::milliseconds> grace;
  if (request.grace_ms >= 0) grace = std::chrono::milliseconds(request.grace_ms);
  const std::string problem = context_->hooks.signal(request.signo, grace);
  if (!problem.empty()) return refuse(problem);
  answer(Accepted{});
}

void ControlSession::on_request(const OutputRequest& request) {
  if (reader_) return refuse("the output is already being sent");
  reader_ = Reader{context_->ring.begin(), context_->ring.end(), request.rank, request.follow};
  if (request.rank >= 0) watch(request.rank);
  pump();
}

void ControlSession::watch(int rank) {
  watches_ = rank;
  ControlContext::Watched& watched = context_->watched[rank];
  if (watched.clients++ == 0)
    watched.answered = !context_->hooks.watch || !context_->hooks.watch(rank, true);
  if (watched.answered) return;
  reader_->awaits = true;
  reader_->caught_at.reset();
  answer_timer_.expires_after(kAnswerWithin);
  answer_timer_.async_wait([self = shared_from_this(), rank](const asio::error_code& error) {
    if (!error) self->answered(rank);
  });
}

void ControlSession::answered(int rank) {
  if (watches_ != rank) return;
  stop_waiting();
  pump();
}

void ControlSession::stop_waiting() {
  if (!reader_ || !std::exchange(reader_->awaits, false)) return;
  answer_timer_.cancel();
  reader_->caught_at = context_->ring.end();
}

void ControlSession::on_request(const WaitRequest& /*request*/) {
  waits_ = true;
  pump();
}

void ControlSession::on_request(const CheckpointRequest& /*request*/) {
  const auto& ask = context_->hooks.checkpoint;
  const std::string problem = ask ? ask() : "the job does not train";
  if (!problem.empty()) return refuse(problem);
  wants_checkpoint_ = true;
  answer(Accepted{});
}

void ControlSession::saved(const CheckpointOutcome& outcome) {
  if (!closed_ && std::exchange(wants_checkpoint_, false)) answer(outcome);
}

void ControlSession::refuse(const std::string& reason) {
  last_ = true;
  answer(Refused{reason});
}

// Answers.

void ControlSession::answer(const ControlMessage& message) {
  encode_control(message, pending_);
  pump();
}

void ControlSession::pump() {
  if (closed_ || writing_) return;
  if (context_->code) stop_waiting();
  take_output();
  finish_if_done();
  if (!pending_.empty()) {
    out_.swap(pending_);
    pending_.clear();
    sent_ = 0;
    writing_ = true;
    write();
  } else if (last_) {
    close();
  }
}

bool ControlSession::wants(const OutputPiece& piece) const {
  if (reader_->rank >= 0) return piece.rank == reader_->rank;
  return piece.rank < 0 || !context_->hooks.shows ||
         context_->hooks.shows(piece.rank, piece.stream);
}

void ControlSession::take_output() {
  if (!reader_) return;
  const OutputRing& ring = context_->ring;
  Reader& reader = *reader_;
  if (reader.at < ring.begin()) {
    encode_control(Skipped{ring.begin() - reader.at}, pending_);
    reader.at = ring.begin();
  }
  std::size_t taken = 0;
  while (taken < kChunk && reader.at < ring.end()) {
    if (reader.caught_at && reader.at >= *reader.caught_at) break;
    const OutputRing::Read read = ring.at(reader.at);
    reader.at = read.next;
    if (!wants(read.piece)) continue;
    const bool has_prefix = read.piece.rank >= 0 && context_->hooks.prefix;
    Bytes text(read.first.begin(), read.first.end());
    text.insert(text.end(), read.second.begin(), read.second.end());
    encode_control(
        RankOutput{read.piece.rank, read.piece.stream, read.piece.flags,
                   has_prefix ? context_->hooks.prefix(read.piece) : std::string(), text},
        pending_);
    taken += text.size();
  }
  if (!reader.caught_at || reader.at < *reader.caught_at) return;
  encode_control(Caught{}, pending_);
  reader.caught_at.reset();
  if (!reader.follow) reader_.reset();
}

/// Appends the exit code after all output.
void ControlSession::finish_if_done() {
  if (!context_->code || last_) return;
  if (reader_ && reader_->at < context_->ring.end()) return;
  if (waits_ || wants_checkpoint_ || (reader_ && reader_->follow))
    encode_control(JobDone{*context_->code}, pending_);
  last_ = true;
}

void ControlSession::write() {
  drop_after(kStuckFor);
  socket_.async_write_some(
      asio::buffer(out_.data() + sent_, out_.size() - sent_),
      [self = shared_from_this()](const asio::error_code& error, std::size_t count) {
        if (error || self->closed_) return self->close();
        self->sent_ += count;
        if (self->sent_ < self->out_.size()) return self->write();
        self->writing_ = false;
        self->patience_.cancel();
        self->out_.clear();
        self->pump();
      });
}

}  // namespace ds::launcher
