// PmixHost: what the PMIx library asks of its host, as frames to the agent, and their answers.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/base/deadline.h"
#include "engine/base/unique_fd.h"
#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Longer data of one rank does not fit into a frame.
inline constexpr std::size_t kMaxData = std::size_t{3} << 20;

/// Returns memory for the library, which frees it by free_copy().
char* copy_of(const std::string& text);
void free_copy(void* text);

/// The library calls back without a pointer of ours, so there is one host in a process.
/// Threads: the library's call the functions of module(), the caller's thread the rest.
class PmixHost {
 public:
  /// `fd`: to the agent. Frames that cannot be written are dropped: the process is about to end.
  static PmixHost& make(int fd, const Spec& spec);

  /// Returns the host of this process, after make().
  static PmixHost& the();

  /// Returns the functions for PMIx_server_init() (host_functions.cpp).
  static pmix_server_module_t* module();

  void write(const Message& message);
  /// Lets answer_later() call `done` soon: the library holds a lock while it calls some functions,
  /// which their answer takes again.
  void answer_soon(pmix_op_cbfunc_t done, void* call);
  /// Answers requests whose time is over.
  void time_out(Clock::time_point now);
  [[nodiscard]] Clock::time_point wake_at();
  /// Readable while answer_later() has something to do, or wake_at() has changed.
  [[nodiscard]] int answers_fd() const { return answers_fd_.get(); }
  void answer_later();

  // Frames of the root.
  void take(FenceOut&& message);
  void take(const ModexAsk& message);
  void take(ModexAnswer&& message);
  void take(const NameAnswer& message);
  void take(const PmixNotice& message);
  /// The process of a rank of this node has exited with 0. Requests for data that it has not
  /// published are answered with PMIX_ERR_NOT_FOUND, because it cannot publish any more.
  void rank_ended(std::int32_t rank);

  // Called by the library's functions.
  using Finish = void (*)(void* call, pmix_status_t status, std::uint64_t number,
                          std::string&& data);
  /// Joins a fence of `procs`; `finish` gets `call` and the data of all nodes.
  void join(const std::string& kind, const pmix_proc_t* procs, std::size_t count, std::string data,
            Finish finish, void* call);
  /// Asks the node of `proc` for its data. `limit`: until `reply` gets PMIX_ERR_TIMEOUT; 0: none.
  void ask(const pmix_proc_t& proc, std::chrono::seconds limit, pmix_modex_cbfunc_t reply,
           void* call);
  /// Sends a request about names; `done` or `found` gets the answer. `limit`: of a lookup.
  void ask(NameAsk&& message, std::chrono::seconds limit, pmix_op_cbfunc_t done,
           pmix_lookup_cbfunc_t found, void* call);
  /// Returns whether all processes are ranks of this node.
  [[nodiscard]] bool are_here(const pmix_proc_t* procs, std::size_t count) const {
    return all_are_here(ranks_of(procs, count));
  }
  void refuse(const pmix_proc_t* proc, const char* what);
  void set_step(const pmix_proc_t& proc, PmixRank::Step step);

 private:
  struct Waiting {
    Finish finish;
    void* call;
    std::string data;  // of this node, if it has all ranks of the fence; else received so far
  };
  struct Asked {
    // One of them.
    pmix_modex_cbfunc_t answer = nullptr;
    pmix_op_cbfunc_t done = nullptr;
    pmix_lookup_cbfunc_t found = nullptr;
    void* call = nullptr;
    std::int32_t rank = 0;   // that asks about names
    std::size_t names = 0;  // of a lookup
    Clock::time_point due = Clock::time_point::max();
  };
  std::uint64_t add(Asked asked, std::chrono::seconds limit);
  std::optional<Asked> take_asked(std::uint64_t id);
  /// A request of another node for the data of a rank of this one. The library keeps its address
  /// until it has the data, so a request that is given up stays in memory.
  struct Question {
    ModexAsk ask;
  };
  [[nodiscard]] std::vector<std::int32_t> ranks_of(const pmix_proc_t* procs,
                                                   std::size_t count) const;
  void answer(Question* question, pmix_status_t status, std::string&& data);
  void give_up_after_pending(std::int32_t rank);
  void give_up(std::int32_t rank);
  [[nodiscard]] bool all_are_here(const std::vector<std::int32_t>& ranks) const;

  int fd_ = -1;
  MpiSpec mpi_;
  std::vector<std::int32_t> own_ranks_;
  std::mutex write_mutex_;
  std::mutex mutex_;  // of what follows; never held while the library is called
  std::map<std::string, Waiting> waiting_;
  std::map<std::uint64_t, Asked> asked_;
  std::uint64_t last_id_ = 0;
  std::set<Question*> questions_;  // open ones
  std::set<std::int32_t> ended_;
  struct Answer {
    pmix_op_cbfunc_t done;
    void* call;
  };
  std::vector<Answer> answers_;
  UniqueFd answers_fd_;
};

}  // namespace ds::launcher
