// SlowCollectives: decorates groups that share one slow wire.
#include "engine/comm/slow_wire.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

namespace ds {
namespace {

/// The network interface of one process.
class Wire {
 public:
  explicit Wire(const WireSpeed& speed) : speed_(speed) {}

  /// Returns when the bytes have passed, after those that came before.
  void carry(std::size_t bytes) {
    const std::chrono::duration<double> span(static_cast<double>(bytes) / speed_.bytes_per_second);
    std::unique_lock lock(mutex_);
    free_at_ = std::max(free_at_, Clock::now()) + std::chrono::duration_cast<Clock::duration>(span);
    const Clock::time_point arrived = free_at_ + speed_.latency;
    lock.unlock();
    std::this_thread::sleep_until(arrived);
  }

 private:
  const WireSpeed speed_;
  std::mutex mutex_;
  Clock::time_point free_at_{};
};

template <class Pieces>
std::size_t bytes_of_others(const Pieces& pieces, int own) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    bytes += i == static_cast<std::size_t>(own) ? 0 : pieces[i].size();
  return bytes;
}

class SlowGroup final : public Group {
 public:
  SlowGroup(std::unique_ptr<Group> inner, std::shared_ptr<Wire> wire)
      : inner_(std::move(inner)), wire_(std::move(wire)) {}
  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int size() const override { return inner_->size(); }
  [[nodiscard]] const GroupSpec& spec() const override { return inner_->spec(); }
  void about(std::string_view path) override { inner_->about(path); }
  void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) override {
    wire_->carry(std::max(bytes_of_others(send, rank()), bytes_of_others(receive, rank())));
    inner_->all_to_all(send, receive, deadline);
  }
  void all_gather(ReceivePieces pieces, Deadline deadline) override {
    const std::size_t own = pieces[static_cast<std::size_t>(rank())].size();
    const std::size_t sent = own * (pieces.size() - 1);
    wire_->carry(std::max(sent, bytes_of_others(pieces, rank())));
    inner_->all_gather(pieces, deadline);
  }
  void broadcast(std::span<std::byte> data, int root, Deadline deadline) override {
    wire_->carry(data.size());
    inner_->broadcast(data, root, deadline);
  }
  void send(std::span<const std::byte> data, int to, Deadline deadline) override {
    wire_->carry(data.size());
    inner_->send(data, to, deadline);
  }
  void receive(std::span<std::byte> data, int from, Deadline deadline) override {
    inner_->receive(data, from, deadline);  // its sender has slept
  }
  void barrier(Deadline deadline) override {
    wire_->carry(0);
    inner_->barrier(deadline);
  }
  void abort() override { inner_->abort(); }

 private:
  const std::unique_ptr<Group> inner_;
  const std::shared_ptr<Wire> wire_;
};

class SlowCollectives final : public Collectives {
 public:
  SlowCollectives(std::unique_ptr<Collectives> inner, const WireSpeed& speed)
      : inner_(std::move(inner)), wire_(std::make_shared<Wire>(speed)) {}
  [[nodiscard]] int rank() const override { return inner_->rank(); }
  [[nodiscard]] int world_size() const override { return inner_->world_size(); }
  [[nodiscard]] Activity& activity() override { return inner_->activity(); }
  std::unique_ptr<Group> make_group(const GroupSpec& spec, Deadline deadline) override {
    return std::make_unique<SlowGroup>(inner_->make_group(spec, deadline), wire_);
  }
  std::unique_ptr<CallWatch> watch_calls(const GroupSpec& spec,
                                         std::function<void(const std::string&)> give_up) override {
    return inner_->watch_calls(spec, std::move(give_up));
  }

 private:
  const std::unique_ptr<Collectives> inner_;
  const std::shared_ptr<Wire> wire_;
};

}  // namespace

std::unique_ptr<Collectives> over_slow_wire(std::unique_ptr<Collectives> inner,
                                            const WireSpeed& speed) {
  return std::make_unique<SlowCollectives>(std::move(inner), speed);
}

}  // namespace ds
