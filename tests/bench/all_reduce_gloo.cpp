// Times Gloo's own all-reduce between processes of this machine, as a peer of all_reduce_mesh.
// Usage: all_reduce_gloo RANKS MEGABYTES ROUNDS
#include <gloo/allreduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "bench/allreduce.h"

namespace {

void add(void* to, const void* left, const void* right, std::size_t count) {
  ds::bench::add(static_cast<float*>(to), static_cast<const float*>(left),
                 static_cast<const float*>(right), count);
}

}  // namespace

int main(int argc, char** argv) {
  char folder[] = "/tmp/all_reduce_gloo.XXXXXX";
  if (::mkdtemp(folder) == nullptr) return 1;
  const int code =
      ds::bench::run_ranks(argc, argv, [&](int rank, int ranks) -> ds::bench::AllReduce {
        auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
        auto context = std::make_shared<gloo::rendezvous::Context>(rank, ranks);
        gloo::rendezvous::FileStore store(folder);
        context->connectFullMesh(store, device);
        return [context](std::span<float> data) {
          gloo::AllreduceOptions options(context);
          options.setOutput(data.data(), data.size());
          options.setReduceFunction(add);
          gloo::allreduce(options);
        };
      });
  std::filesystem::remove_all(folder);
  return code;
}
