// The LM head: logits, loss and gradient in chunks of rows, so that the full logits never exist.
#include <algorithm>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/head_kernels.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/cuda/products.h"

namespace ds::cuda {
namespace {

/// Pads rows of logits so that every load is whole and aligned for any vocabulary.
constexpr std::int64_t kRowMultiple = 64;

struct HeadDimensions {
  explicit HeadDimensions(const HeadLoss& a)
      : type(a.in.dtype),
        vocab(a.weight.shape[0]),
        width(a.weight.shape[1]),
        rows(a.in.elements() / width),
        chunk(std::min(a.chunk_rows, rows)) {
    DS_ASSERT(a.chunk_rows > 0 && a.valid_vocab > 0 && a.valid_vocab <= vocab);
    DS_ASSERT(a.weight.dtype == type && a.targets.elements() == rows);
  }
  explicit HeadDimensions(const Kernels::Extents& e)
      : type(e.act),
        vocab(e.vocab),
        width(e.width),
        rows(e.micro * e.seq_len),
        chunk(std::min(e.chunk_rows, rows)) {}

  DType type;
  std::int64_t vocab, width, rows, chunk;
  [[nodiscard]] std::int64_t row_length() const {
    return ceil_div(vocab, kRowMultiple) * kRowMultiple;
  }
};

struct HeadScratch {
  HeadScratch(Scratch& scratch, const HeadDimensions& d)
      : workspace(scratch.take<std::byte>(kProductWorkspace)),
        logits(scratch.take<std::byte>(d.chunk * d.row_length() * size_of(d.type))),
        losses(scratch.take<double>(d.rows)),
        targets(scratch.take<std::int32_t>(d.rows)) {}
  std::byte *workspace, *logits;
  double* losses;
  std::int32_t* targets;
};

const std::byte* at(const ConstTensor& t, std::int64_t element) {
  return static_cast<const std::byte*>(t.data) + element * size_of(t.dtype);
}

class Head {
 public:
  Head(Context& c, const HeadLoss& a, cudaStream_t stream)
      : c_(c), a_(a), d_(a), scratch_(c.scratch()), s_(scratch_, d_), stream_(stream) {
    // Every row's block reads the targets, so one copy fetches them from host memory.
    check(cudaMemcpyAsync(s_.targets, a.targets.data,
                          static_cast<std::size_t>(d_.rows) * sizeof(std::int32_t),
                          cudaMemcpyDefault, stream),
          "copying the head's targets");
  }

  /// Calls after(first row, rows) for each chunk, whose gradients then replace its logits.
  template <class After>
  void for_chunks(bool gradient, float scale, After after) {
    for (std::int64_t first = 0; first < d_.rows; first += d_.chunk) {
      const std::int64_t rows = std::min(d_.chunk, d_.rows - first);
      compute_logits(first, rows);
      check(launch_softmax_rows(act_of(d_.type),
                                {.logits = s_.logits,
                                 .targets = s_.targets + first,
                                 .losses = s_.losses + first,
                                 .rows = rows,
                                 .row_length = d_.row_length(),
                                 .valid_vocab = a_.valid_vocab,
                                 .gradient = gradient,
                                 .scale = scale,
                                 .max_shared_bytes = c_.facts.max_shared_bytes},
                                stream_),
            "the head's softmax");
      after(first, rows);
    }
    check(launch_sum_losses(s_.losses, s_.targets, d_.rows, static_cast<double*>(a_.loss.data),
                            static_cast<std::int64_t*>(a_.count.data), stream_),
          "summing the head's losses");
  }

  void weight_gradient(std::int64_t first, std::int64_t rows, void* dweight, bool accumulate) {
    multiply(c_,
             {.m = d_.vocab,
              .n = d_.width,
              .k = rows,
              .type = d_.type,
              .out_type = DType::f32,
              .a = {s_.logits, d_.row_length(), true},
              .b = {at(a_.in, first * d_.width), d_.width},
              .out = dweight,
              .out_row_length = d_.width,
              .accumulate = accumulate || first > 0},
             s_.workspace, stream_);
  }

  void input_gradient(std::int64_t first, std::int64_t rows, void* din) {
    multiply(c_,
             {.m = rows,
              .n = d_.width,
              .k = d_.vocab,
              .type = d_.type,
              .out_type = d_.type,
              .a = {s_.logits, d_.row_length()},
              .b = {a_.weight.data, d_.width},
              .out = static_cast<std::byte*>(din) + first * d_.width * size_of(d_.type),
              .out_row_length = d_.width},
             s_.workspace, stream_);
  }

 private:
  void compute_logits(std::int64_t first, std::int64_t rows) {
    multiply(c_,
             {.m = rows,
              .n = d_.vocab,
              .k = d_.width,
              .type = d_.type,
              .out_type = d_.type,
              .a = {at(a_.in, first * d_.width), d_.width},
              .b = {a_.weight.data, d_.width, true},
              .out = s_.logits,
              .out_row_length = d_.row_length()},
             s_.workspace, stream_);
  }

  Context& c_;
  const HeadLoss& a_;
  HeadDimensions d_;
  Scratch scratch_;
  HeadScratch s_;
  cudaStream_t stream_;
};

}  // namespace

template <>
void run(Context& c, const HeadLoss& a, cudaStream_t stream) {
  Head(c, a, stream).for_chunks(false, 0, [](std::int64_t, std::int64_t) {});
}

template <>
void run(Context& c, const HeadLossBackward& a, cudaStream_t stream) {
  DS_ASSERT(a.loss_scale != 0.0F);
  Head head(c, a.forward, stream);
  head.for_chunks(true, a.loss_scale, [&](std::int64_t first, std::int64_t rows) {
    // The weight gradient comes first: it reads `in`, and `din` may share that memory.
    if (a.dweight) head.weight_gradient(first, rows, a.dweight.data, a.accumulate);
    if (a.din) head.input_gradient(first, rows, a.din.data);
  });
}

template <>
void run(Context& c, const Logits& a, cudaStream_t stream) {
  const std::int64_t width = a.weight.shape[1], vocab = a.weight.shape[0];
  Scratch scratch = c.scratch();
  auto* workspace = scratch.take<std::byte>(kProductWorkspace);
  multiply(c,
           {.m = a.in.elements() / width,
            .n = vocab,
            .k = width,
            .type = a.in.dtype,
            .out_type = DType::f32,
            .a = {a.in.data, width},
            .b = {a.weight.data, width, true},
            .out = a.out.data,
            .out_row_length = vocab},
           workspace, stream);
}

std::size_t head_scratch_bytes(const Kernels::Extents& e) {
  if (e.vocab == 0 || e.chunk_rows == 0 || e.micro * e.seq_len == 0) return 0;
  Scratch scratch;
  const HeadScratch pieces(scratch, HeadDimensions(e));
  return scratch.used();
}

}  // namespace ds::cuda
