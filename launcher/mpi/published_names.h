// Names that ranks publish for other ranks of the job, at the root (MPI_Publish_name; Open MPI's
// MPI_Comm_accept and MPI_Comm_connect meet by them). Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launcher/wire/frame.h"

namespace ds::launcher {

/// Promise: every request gets one answer, but a lookup waits until as many names are there as it
///          wants, for ever if they never come: so do MPI_Comm_accept and MPI_Comm_connect. A
///          request publishes all its names or none. Names last as long as an epoch.
/// Threads: one.   Errors: none.
class PublishedNames {
 public:
  /// Bytes of all names and values.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  struct Out {
    int node = 0;  // that gets the message
    NameAnswer message{};
  };

  /// Takes a request of `node`.
  std::vector<Out> take(int node, NameAsk&& ask);
  /// All ranks of the node have ended: its lookups wait no more.
  void ended(int node);

 private:
  struct Entry {
    std::string value{};
    std::int32_t rank = 0;  // that has published it
    bool once = false;
  };
  struct Lookup {
    int node = 0;
    NameAsk ask{};
  };

  std::vector<Out> publish(int node, NameAsk&& ask);
  NameAnswer::Status withdraw(const NameAsk& ask);
  [[nodiscard]] bool is_due(const Lookup& lookup) const;
  Out answer(const Lookup& lookup);
  void remove(std::map<std::string, Entry>::iterator entry);

  std::map<std::string, Entry> names_;
  std::size_t bytes_ = 0;
  std::vector<Lookup> waiting_;  // in the order of their coming
};

}  // namespace ds::launcher
