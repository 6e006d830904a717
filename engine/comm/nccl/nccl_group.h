// NcclGroup: a group over NCCL. Operations run on a stream, and the hang guard's thread sees that
// they end.
//
// NCCL does not report a peer that never arrives: its kernels spin. So every operation lies between
// two events. An operation that runs longer than its deadline allows ends the communicator, which
// releases the stream. The hang guard ends it earlier, and says which rank is behind.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <memory>
#include <mutex>
#include <string>

#include "engine/comm/collectives.h"
#include "engine/comm/nccl/communicator.h"
#include "engine/comm/nccl/flight_log.h"
#include "engine/device/device.h"

namespace ds::comm {

class NcclGroup final : public Group {
 public:
  struct Parts {
    GroupSpec spec{};
    int rank = 0;  // in the group
    const NcclApi* api = nullptr;
    std::unique_ptr<Communicator> comm;  // ready
    std::unique_ptr<Group> control;      // the same members, over the host's wire
    int cuda_device = 0;
    Activity* activity = nullptr;
    Collectives* host = nullptr;  // its hang guard learns of calls and failures
  };
  explicit NcclGroup(Parts parts);
  ~NcclGroup() override;

  [[nodiscard]] int rank() const override { return parts_.rank; }
  [[nodiscard]] int size() const override { return static_cast<int>(spec().ranks.size()); }
  [[nodiscard]] const GroupSpec& spec() const override { return parts_.spec; }
  void about(std::string_view path) override { about_.assign(path); }
  /// Due before the first operation.
  void run_on(Stream& stream) override;
  void raise_failure() override;
  void all_to_all(SendPieces send, ReceivePieces receive, Deadline deadline) override;
  void all_gather(ReceivePieces pieces, Deadline deadline) override;
  /// Over the host's wire; does not wait for the stream.
  void combine(std::span<std::byte> value, Join join, Deadline deadline) override {
    parts_.control->combine(value, join, deadline);
  }
  /// Waits for the stream, then for the other ranks over the host's wire.
  void barrier(Deadline deadline) override;
  void abort() override;

 private:
  using Put = FunctionRef<ncclResult_t(ncclComm_t)>;
  struct Event {
    Event();
    ~Event() { static_cast<void>(cudaEventDestroy(get)); }
    Event(const Event&) = delete;
    cudaEvent_t get = nullptr;
  };
  void run(const Flight& operation, Deadline deadline, Put put);
  ncclResult_t all_together(FunctionRef<ncclResult_t()> calls);
  void wait_for_place();
  bool look(Clock::time_point now, Clock::duration gap);
  bool advance(Clock::time_point now);
  void tell_guard();
  void fail(const std::string& operation, const std::string& why);
  void throw_failure(const char* late_operation = nullptr);
  [[nodiscard]] std::string find_absent();
  [[nodiscard]] std::string head() const;
  [[nodiscard]] std::string current() const {
    return log_.is_idle() ? "between operations" : log_.oldest()->text();
  }

  Parts parts_;
  const NcclApi& api_;
  cudaStream_t stream_ = nullptr;
  std::array<Event, FlightLog::kFlights> begun_, ended_;  // by index in the log
  std::string about_;
  std::mutex look_mutex_;           // held while polling, by the guard or by raise_failure()
  Clock::time_point told_since_{};  // when the operation began that the guard knows; zero: none
  std::mutex mutex_;                // guards the members below
  FlightLog log_;
  std::string hopeless_;  // why the hang guard gave up
  std::string message_;   // the error; empty while the group is well
  bool absent_named_ = false;
  // Last member: its destructor ends the guard's calls; may be null
  std::unique_ptr<CallWatch> watch_;
};

}  // namespace ds::comm
