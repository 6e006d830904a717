// Implements Sdpa through cudnn-frontend: the only file that includes its headers.
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/error.h"
#include "engine/device/cuda/libraries.h"
#include "engine/kernels/cuda/sdpa.h"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;  // the frontend looks up cuDNN's functions here
}  // namespace cudnn_frontend

namespace ds::cuda {
namespace {

namespace fe = cudnn_frontend;
using GraphTensor = std::shared_ptr<fe::graph::Tensor_attributes>;

/// Identifiers of a graph's tensors.
enum Uid : std::int64_t { kQ = 1, kK, kV, kOut, kLse, kDout, kDq, kDk, kDv };

void check_graph(fe::error_t status, const char* step) {
  if (status.is_bad()) {
    throw Error(ErrorKind::system,
                fmt::format("cuDNN's attention: {}: {}", step, status.get_message()));
  }
}

void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) {
    throw Error(ErrorKind::system,
                fmt::format("cuDNN: {}: {}", what, fe::detail::get_error_string(status)));
  }
}

/// Builds the graph of one pass. All tensors are (B, heads, T, D) views into rows.
class GraphBuilder {
 public:
  GraphBuilder(fe::graph::Graph& graph, const AttentionProblem& p)
      : graph_(graph),
        p_(p),
        type_(p.act == DType::bf16 ? fe::DataType_t::BFLOAT16 : fe::DataType_t::HALF) {
    graph_.set_io_data_type(type_)
        .set_intermediate_data_type(fe::DataType_t::FLOAT)
        .set_compute_data_type(fe::DataType_t::FLOAT);
  }

  void forward() {
    auto options = fe::graph::SDPA_attributes().set_name("attention").set_generate_stats(true);
    mask(options);
    const auto outputs = graph_.sdpa(queries("q", kQ), keys("k", kK), keys("v", kV), options);
    place(outputs[0], kOut, of_out());
    place_statistics(outputs[1]->set_output(true));
  }

  void backward() {
    auto options = fe::graph::SDPA_backward_attributes()
                       .set_name("attention_backward")
                       .set_deterministic_algorithm(true);
    mask(options);
    const GraphTensor out = tensor("out", kOut, of_out());
    const GraphTensor dout = tensor("dout", kDout, of_out());
    const GraphTensor stats = graph_.tensor(fe::graph::Tensor_attributes().set_name("lse"));
    place_statistics(*stats);
    const auto gradients = graph_.sdpa_backward(queries("q", kQ), keys("k", kK), keys("v", kV), out,
                                                dout, stats, options);
    place(gradients[0], kDq, of_queries());
    place(gradients[1], kDk, of_keys());
    place(gradients[2], kDv, of_keys());
  }

 private:
  /// (B, heads, positions, D) in rows of `width` elements.
  struct Part {
    std::int64_t heads, positions, width;
  };
  [[nodiscard]] Part of_queries() const {
    return {p_.heads, p_.seq_len, p_.query_heads() * p_.head_size};
  }
  [[nodiscard]] Part of_keys() const {
    return {p_.kv_heads, p_.key_len, p_.key_heads() * p_.head_size};
  }
  [[nodiscard]] Part of_out() const { return {p_.heads, p_.seq_len, p_.heads * p_.head_size}; }

  template <class Options>
  void mask(Options& options) {
    options.set_attn_scale(p_.scale);
    if (p_.causal) {
      options.set_diagonal_alignment(fe::DiagonalAlignment_t::TOP_LEFT)
          .set_diagonal_band_right_bound(0);
    }
    // The frontend keeps the keys with key + bound > query.
    if (p_.window > 0) options.set_diagonal_band_left_bound(p_.window);
  }

  void shape(fe::graph::Tensor_attributes& tensor, Uid uid, const Part& part) const {
    tensor.set_uid(uid)
        .set_dim({p_.batch, part.heads, part.positions, p_.head_size})
        .set_stride({part.positions * part.width, p_.head_size, part.width, 1})
        .set_data_type(type_);
  }
  GraphTensor tensor(const char* name, Uid uid, const Part& part) {
    fe::graph::Tensor_attributes attributes;
    attributes.set_name(name);
    shape(attributes, uid, part);
    return graph_.tensor(attributes);
  }
  GraphTensor queries(const char* name, Uid uid) { return tensor(name, uid, of_queries()); }
  GraphTensor keys(const char* name, Uid uid) { return tensor(name, uid, of_keys()); }
  void place(const GraphTensor& output, Uid uid, const Part& part) const {
    output->set_output(true);
    shape(*output, uid, part);
  }
  /// cuDNN's statistics are the natural logarithms of the softmax denominators: our lse.
  void place_statistics(fe::graph::Tensor_attributes& tensor) const {
    tensor.set_uid(kLse)
        .set_dim({p_.batch, p_.heads, p_.seq_len, 1})
        .set_stride({p_.heads * p_.seq_len, p_.seq_len, 1, 1})
        .set_data_type(fe::DataType_t::FLOAT);
  }

  fe::graph::Graph& graph_;
  const AttentionProblem& p_;
  fe::DataType_t type_;
};

class CudnnSdpa final : public Sdpa {
 public:
  CudnnSdpa(int compute_capability, const std::string& device_json)
      : library_(cudnn_library()), compute_capability_(compute_capability) {
    fe::cudnn_dlhandle = library_.handle();
    if (!device_json.empty()) {
      device_ = std::make_shared<fe::DeviceProperties>();
      check_graph(device_->deserialize({device_json.begin(), device_json.end()}),
                  "the device's description");
    }
  }
  CudnnSdpa(const CudnnSdpa&) = delete;
  CudnnSdpa& operator=(const CudnnSdpa&) = delete;
  ~CudnnSdpa() override {
    graphs_.clear();
    if (handle_ != nullptr) fe::detail::destroy_handle(handle_);
  }

  [[nodiscard]] int version() const override { return library_.version(); }

  std::int64_t workspace_bytes(SdpaPass pass, const AttentionProblem& p) override {
    return graph(pass, p).workspace_bytes;
  }
  std::string name(SdpaPass pass, const AttentionProblem& p) override {
    std::string name;
    check_graph(graph(pass, p).graph.get_plan_name(name), "the plan's name");
    return name;
  }

  void run(SdpaPass pass, const AttentionProblem& p, const AttentionBackwardArgs& m,
           void* workspace, cudaStream_t stream) override {
    const Built& built = graph(pass, p);
    check_cudnn(fe::detail::set_stream(handle(), stream), "the stream");
    std::unordered_map<std::int64_t, void*> memory;
    memory[kQ] = const_cast<void*>(m.forward.q);
    memory[kK] = const_cast<void*>(m.forward.k);
    memory[kV] = const_cast<void*>(m.forward.v);
    memory[kOut] = m.forward.out;
    memory[kLse] = m.forward.lse;
    if (pass == SdpaPass::backward) {
      memory[kDout] = const_cast<void*>(m.dout);
      memory[kDq] = m.dq;
      memory[kDk] = m.dk;
      memory[kDv] = m.dv;
    }
    check_graph(built.graph.execute(handle(), memory, workspace), "running it");
  }

 private:
  struct Built {
    fe::graph::Graph graph;
    std::int64_t workspace_bytes = 0;
  };

  cudnnHandle_t handle() {
    if (handle_ == nullptr) check_cudnn(fe::detail::create_handle(&handle_), "its handle");
    return handle_;
  }

  const Built& graph(SdpaPass pass, const AttentionProblem& p) {
    std::unique_ptr<Built>& kept = graphs_[{pass, p}];
    if (kept == nullptr) kept = build(pass, p);
    return *kept;
  }

  std::unique_ptr<Built> build(SdpaPass pass, const AttentionProblem& p) {
    auto built = std::make_unique<Built>();
    fe::graph::Graph& graph = built->graph;
    GraphBuilder builder(graph, p);
    graph.set_sm_version(compute_capability_);
    if (device_ != nullptr) graph.set_device_properties(device_);
    if (pass == SdpaPass::forward) {
      builder.forward();
    } else {
      builder.backward();
    }
    check_graph(graph.validate(), "the graph");
    check_graph(
        device_ != nullptr ? graph.build_operation_graph() : graph.build_operation_graph(handle()),
        "its operations");
    check_graph(graph.create_execution_plans({fe::HeurMode_t::A}), "plans");
    check_graph(graph.check_support(), "support");
    check_graph(graph.build_plans(), "building it");
    check_graph(graph.get_workspace_size(built->workspace_bytes), "its scratch");
    return built;
  }

  const Library& library_;
  int compute_capability_;
  std::shared_ptr<fe::DeviceProperties> device_;
  cudnnHandle_t handle_ = nullptr;
  std::map<std::pair<SdpaPass, AttentionProblem>, std::unique_ptr<Built>> graphs_;
};

}  // namespace

bool sdpa_is_built() { return true; }

std::unique_ptr<Sdpa> make_sdpa(int compute_capability, const std::string& device_json) {
  return std::make_unique<CudnnSdpa>(compute_capability, device_json);
}

}  // namespace ds::cuda
