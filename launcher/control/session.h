// ControlSession, one client of a job's private socket: reads requests, writes answers and output,
// never blocks.
#pragma once

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "launcher/control/control_server.h"
#include "launcher/control/job_output.h"

namespace ds::launcher {

/// State shared by all sessions of a job.
struct ControlContext {
  ControlHooks hooks;
  OutputRing ring{};
  struct Watched {  // a rank that clients requested by number
    int clients = 0;
    bool answered = true;
  };
  std::map<int, Watched> watched{};
  std::optional<int> code{};  // set when the job is over
};

class ControlSession : public std::enable_shared_from_this<ControlSession> {
 public:
  using Socket = asio::local::stream_protocol::socket;

  /// The session shares ownership of the context. `on_closed` is called once.
  ControlSession(Socket socket, std::shared_ptr<ControlContext> context,
                 std::function<void(const ControlSession*)> on_closed)
      : socket_(std::move(socket)),
        context_(std::move(context)),
        on_closed_(std::move(on_closed)),
        patience_(socket_.get_executor()),
        answer_timer_(socket_.get_executor()) {}

  /// Starts reading if the client belongs to the same user; refuses it otherwise.
  void start() {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket_.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
        peer.uid != ::geteuid())
      return refuse("this job belongs to another user");
    drop_after(kSilentFor);
    read();
  }

  /// Tells that the last output of the rank is in the ring.
  void answered(int rank) {
    if (watches_ != rank) return;
    stop_waiting();
    pump();
  }

  /// Sends the outcome if the client asked for a checkpoint.
  void saved(const CheckpointOutcome& outcome) {
    if (!closed_ && std::exchange(wants_checkpoint_, false)) answer(outcome);
  }

  /// Sends what is new in the context.
  void pump() {
    if (closed_ || writing_) return;
    if (context_->code) stop_waiting();
    take_output();
    finish_if_done();
    if (pending_.empty() && last_) return close();
    if (pending_.empty()) return;
    out_ = std::exchange(pending_, {});
    sent_ = 0;
    writing_ = true;
    write();
  }

  void close() {
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

 private:
  /// Limits after which a client is dropped: without a request, and without reading.
  static constexpr std::chrono::seconds kSilentFor{10};
  static constexpr std::chrono::seconds kStuckFor{30};
  /// Time for a node to send the last output of a hidden rank; an ended node never does.
  static constexpr std::chrono::seconds kAnswerWithin{1};
  /// Maximum number of bytes taken from the ring at once.
  static constexpr std::size_t kChunk = std::size_t{64} << 10;

  struct Reader {  // position of the client in the ring
    std::uint64_t at = 0;
    std::optional<std::uint64_t> caught_at;  // position at which Caught is sent
    int rank = -1;
    bool follow = false;
    bool awaits = false;  // waits for the rank's last output
  };

  void drop_after(std::chrono::seconds span) {
    patience_.expires_after(span);
    patience_.async_wait([self = shared_from_this()](const asio::error_code& error) {
      if (!error) self->close();
    });
  }

  void read() {
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

  void on_message(const ControlMessage& message) {
    if (closed_ || last_) return;
    if (!writing_) patience_.cancel();
    const auto obey = [this](const auto& request) {
      if constexpr (requires { request.version; }) {
        if (request.version == kControlVersion) return on_request(request);
        refuse(
            fmt::format("protocol version mismatch: the job's dslaunch speaks version {}, "
                        "yours version {}",
                        kControlVersion, request.version));
      } else {
        refuse("unexpected message: not a request");
      }
    };
    std::visit(obey, message);
  }

  void on_request(const InfoRequest& /*request*/) { answer(context_->hooks.info()); }

  void on_request(const SignalRequest& request) {
    std::optional<std::chrono::milliseconds> grace;
    if (request.grace_ms >= 0) grace = std::chrono::milliseconds(request.grace_ms);
    const std::string problem = context_->hooks.signal(request.signo, grace);
    if (!problem.empty()) return refuse(problem);
    answer(Accepted{});
  }

  void on_request(const OutputRequest& request) {
    if (reader_) return refuse("the output is already being sent");
    reader_ = Reader{context_->ring.begin(), context_->ring.end(), request.rank, request.follow};
    if (request.rank >= 0) watch(request.rank);
    pump();
  }

  void on_request(const WaitRequest& /*request*/) {
    waits_ = true;
    pump();
  }

  void on_request(const CheckpointRequest& /*request*/) {
    const auto& ask = context_->hooks.checkpoint;
    const std::string problem = ask ? ask() : "the job does not train";
    if (!problem.empty()) return refuse(problem);
    wants_checkpoint_ = true;
    answer(Accepted{});
  }

  void on_request(const ScaleRequest& request) {
    const auto& scale = context_->hooks.scale;
    if (!scale) return refuse("its hosts are fixed: it is not a job of dslaunch --nodes MIN:MAX");
    // A client that gave up, because this launcher was suspended, has reported that nothing changes.
    char byte = 0;
    if (::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) return close();
    ScaleAnswer given = scale(request);
    if (given.refused) return refuse(given.text);
    answer(Scaled{std::move(given.text)});
  }

  void watch(int rank) {
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

  void stop_waiting() {
    if (!reader_ || !std::exchange(reader_->awaits, false)) return;
    answer_timer_.cancel();
    reader_->caught_at = context_->ring.end();
  }

  void refuse(const std::string& reason) {
    last_ = true;
    answer(Refused{reason});
  }

  void answer(const ControlMessage& message) {
    encode_control(message, pending_);
    pump();
  }

  /// A client that follows one rank also gets the job's own lines: restarts, and the verdict.
  [[nodiscard]] bool wants(const OutputPiece& piece) const {
    if (piece.rank < 0) return reader_->rank < 0 || reader_->follow;
    if (reader_->rank >= 0) return piece.rank == reader_->rank;
    return !context_->hooks.shows || context_->hooks.shows(piece.rank, piece.stream);
  }

  void take_output() {
    if (!reader_) return;
    const OutputRing& ring = context_->ring;
    Reader& reader = *reader_;
    if (reader.at < ring.begin()) {
      encode_control(Skipped{ring.begin() - reader.at}, pending_);
      reader.at = ring.begin();
    }
    std::size_t taken = 0;
    while (taken < kChunk &&
           reader.at < std::min(ring.end(), reader.caught_at.value_or(ring.end()))) {
      const OutputRing::Read read = ring.at(reader.at);
      reader.at = read.next;
      if (!wants(read.piece)) continue;
      RankOutput output{read.piece.rank, read.piece.stream, read.piece.flags};
      if (output.rank >= 0 && context_->hooks.prefix)
        output.prefix = context_->hooks.prefix(read.piece);
      Bytes text(read.first.begin(), read.first.end());
      text.insert(text.end(), read.second.begin(), read.second.end());
      output.bytes = text;
      encode_control(output, pending_);
      taken += text.size();
    }
    if (!reader.caught_at || reader.at < *reader.caught_at) return;
    encode_control(Caught{}, pending_);
    reader.caught_at.reset();
    if (!reader.follow) reader_.reset();
  }

  /// Appends the exit code after all output.
  void finish_if_done() {
    if (!context_->code || last_) return;
    if (reader_ && reader_->at < context_->ring.end()) return;
    if (waits_ || wants_checkpoint_ || (reader_ && reader_->follow))
      encode_control(JobDone{*context_->code}, pending_);
    last_ = true;
  }

  void write() {
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

  Socket socket_;
  std::shared_ptr<ControlContext> context_;
  std::function<void(const ControlSession*)> on_closed_;
  asio::steady_timer patience_, answer_timer_;
  ControlDecoder decoder_;
  std::array<std::byte, 4096> input_;
  Bytes pending_;  // to be written after out_
  Bytes out_;      // being written
  std::size_t sent_ = 0;
  std::optional<Reader> reader_;
  std::optional<int> watches_;
  bool waits_ = false;
  bool wants_checkpoint_ = false;
  bool writing_ = false;
  bool last_ = false;  // close the connection when all is written
  bool closed_ = false;
};

}  // namespace ds::launcher
