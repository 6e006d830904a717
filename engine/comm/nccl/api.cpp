// NcclApi: the table of NCCL's functions.
#include "engine/comm/nccl/api.h"

#include "engine/device/cuda/libraries.h"

namespace ds::comm {
namespace {

NcclApi open_api() {
  const cuda::Library& nccl = cuda::nccl_library();
  NcclApi api;
  nccl.bind(api.get_error_string, "ncclGetErrorString");
  nccl.bind(api.get_last_error, "ncclGetLastError");
  nccl.bind(api.get_unique_id, "ncclGetUniqueId");
  nccl.bind(api.comm_init_rank_config, "ncclCommInitRankConfig");
  nccl.bind(api.comm_get_async_error, "ncclCommGetAsyncError");
  nccl.bind(api.comm_finalize, "ncclCommFinalize");
  nccl.bind(api.comm_destroy, "ncclCommDestroy");
  nccl.bind(api.comm_abort, "ncclCommAbort");
  nccl.bind(api.group_start, "ncclGroupStart");
  nccl.bind(api.group_end, "ncclGroupEnd");
  nccl.bind(api.all_gather, "ncclAllGather");
  nccl.bind(api.broadcast, "ncclBroadcast");
  nccl.bind(api.send, "ncclSend");
  nccl.bind(api.receive, "ncclRecv");
  return api;
}

}  // namespace

const NcclApi& nccl_api() {
  static const NcclApi api = open_api();
  return api;
}

}  // namespace ds::comm
