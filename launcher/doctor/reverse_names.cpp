// Reverse lookups on a few threads, because getnameinfo blocks; the threads own their data.
#include "launcher/doctor/reverse_names.h"

#include <netdb.h>

#include <algorithm>
#include <asio/ip/tcp.hpp>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "engine/base/helper_thread.h"

namespace ds::launcher::doctor {
namespace {

constexpr std::size_t kThreads = 16;

struct Work {
  std::vector<std::string> addresses;
  std::vector<std::string> names;
  std::size_t next = 0;
  std::size_t done = 0;
  std::mutex mutex;
  std::condition_variable ended;
};

std::string name_of(const std::string& address) {
  asio::error_code error;
  const asio::ip::tcp::endpoint end(asio::ip::make_address(address, error), 0);
  char name[NI_MAXHOST] = {};
  if (error || ::getnameinfo(end.data(), static_cast<socklen_t>(end.size()), name, sizeof name,
                             nullptr, 0, NI_NAMEREQD) != 0)
    return {};
  return name;
}

void take_work(const std::shared_ptr<Work>& work) {
  std::unique_lock lock(work->mutex);
  while (work->next < work->addresses.size()) {
    const std::size_t index = work->next++;
    const std::string address = work->addresses[index];
    lock.unlock();
    std::string name = name_of(address);
    lock.lock();
    work->names[index] = std::move(name);
    ++work->done;
  }
  work->ended.notify_one();
}

}  // namespace

std::vector<std::string> reverse_names(const std::vector<std::string>& addresses,
                                       Deadline deadline) {
  const auto work = std::make_shared<Work>();
  work->addresses = addresses;
  work->names.resize(addresses.size());
  for (std::size_t i = 0; i < std::min(kThreads, addresses.size()); ++i)
    start_helper_thread([work] { take_work(work); });
  std::unique_lock lock(work->mutex);
  work->ended.wait_for(lock, deadline.remaining(),
                       [&] { return work->done == work->addresses.size(); });
  return work->names;
}

}  // namespace ds::launcher::doctor
