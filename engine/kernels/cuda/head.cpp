// The LM head: logits, loss and gradient in chunks of rows, so that the full logits never exist. A
// sparse head has chunks of the rows that count.
#include <algorithm>

#include "engine/device/cuda/check.h"
#include "engine/kernels/cuda/head_kernels.h"
#include "engine/kernels/cuda/ops.h"
#include "engine/kernels/cuda/product_kernels.h"
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
        chunk(std::min(a.chunk_rows, rows)),
        has_bias(a.bias),
        is_scaled(a.scale != 1.0F),
        is_sparse(a.sparse) {
    DS_ASSERT(!a.bias || (a.bias.dtype == type && a.bias.elements() == vocab));
    DS_ASSERT(a.chunk_rows > 0 && a.valid_vocab > 0 && a.valid_vocab <= vocab);
    DS_ASSERT(a.weight.dtype == type && a.targets.elements() == rows);
  }
  explicit HeadDimensions(const Kernels::Extents& e)
      : type(e.act),
        vocab(e.vocab),
        width(e.width),
        rows(e.micro * e.seq_len),
        chunk(std::min(e.chunk_rows, rows)),
        has_bias(e.head_bias),
        is_scaled(e.head_scaled),
        is_sparse(e.head_sparse) {}

  DType type;
  std::int64_t vocab, width, rows, chunk;
  bool has_bias, is_scaled, is_sparse;
  /// Rows of a sparse chunk's products are a multiple of it, so that few shapes need an algorithm.
  static constexpr std::int64_t kSparseMultiple = 128;
  [[nodiscard]] std::int64_t room() const { return rows + (is_sparse ? kSparseMultiple : 0); }
  [[nodiscard]] std::int64_t row_length() const {
    return ceil_div(vocab, kRowMultiple) * kRowMultiple;
  }
};

struct HeadScratch {
  HeadScratch(Scratch& scratch, const HeadDimensions& d)
      : workspace(scratch.take<std::byte>(kProductWorkspace)),
        logits(scratch.take<std::byte>(d.chunk * d.row_length() * size_of(d.type))),
        losses(scratch.take<double>(d.room())),
        targets(scratch.take<std::int32_t>(d.rows)),
        list(scratch.take<std::int32_t>(d.is_sparse ? d.rows : 0)),
        wanted(d.is_sparse ? scratch.take<std::int32_t>(d.room()) : targets),
        partials(scratch.take<float>(d.has_bias ? column_sum_partials(d.chunk, d.vocab) : 0)),
        copied(scratch.take<std::byte>(
            d.is_scaled || d.is_sparse ? d.chunk * d.width * size_of(d.type) : 0)) {}
  std::byte *workspace, *logits;
  double* losses;
  std::int32_t* targets;
  std::int32_t *list, *wanted;  // the rows whose logits are computed, and their targets
  float* partials;              // of the bias gradient
  std::byte* copied;            // a chunk's input times the scale; then its gradient
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
    counted_ = d_.rows;
    if (!d_.is_sparse) return;
    const auto* on_host = static_cast<const std::int32_t*>(a.targets.data);
    counted_ = std::count_if(on_host, on_host + d_.rows, [](std::int32_t t) { return t >= 0; });
    check(launch_list_rows({.targets = s_.targets,
                            .rows = d_.rows,
                            .room = d_.room(),
                            .list = s_.list,
                            .wanted = s_.wanted},
                           stream),
          "listing the head's rows");
  }

  /// Calls after(first row, rows) for each chunk, whose gradients then replace its logits.
  template <class After>
  void for_chunks(bool gradient, float scale, After after) {
    for (std::int64_t first = 0; first < counted_; first += d_.chunk) {
      const std::int64_t rows = rows_from(first);
      compute_logits(first, rows);
      check(launch_softmax_rows(act_of(d_.type),
                                {.logits = s_.logits,
                                 .targets = s_.wanted + first,
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
    check(launch_sum_losses(s_.losses, s_.wanted, counted_, static_cast<double*>(a_.loss.data),
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
              .b = {input(first), d_.width},
              .out = dweight,
              .out_row_length = d_.width,
              .accumulate = accumulate || first > 0},
             s_.workspace, stream_);
  }

  void input_gradient(std::int64_t first, std::int64_t rows, void* din) {
    std::byte* const to = d_.is_sparse
                              ? s_.copied
                              : static_cast<std::byte*>(din) + first * d_.width * size_of(d_.type);
    multiply(c_,
             {.m = rows,
              .n = d_.width,
              .k = d_.vocab,
              .type = d_.type,
              .out_type = d_.type,
              .a = {s_.logits, d_.row_length()},
              .b = {a_.weight.data, d_.width},
              .out = to,
              .out_row_length = d_.width},
             s_.workspace, stream_);
    if (d_.is_sparse) {
      check(launch_scatter_rows(act_of(d_.type), copy_of(to, first, din), stream_),
            "storing the head's input gradient");
    } else if (d_.is_scaled) {
      const Tensor part{to, d_.type, {rows, d_.width}};
      run_scale(c_, part, a_.scale, part, stream_);
    }
  }

  /// Sets what no chunk writes: gradients of rows that do not count, and all if none does.
  void clear_rest(const HeadLossBackward& a) {
    if (!d_.is_sparse) return;
    check(launch_clear_rows(act_of(d_.type), s_.targets, d_.rows, d_.width, a.din.data, stream_),
          "clearing the head's input gradient");
    if (counted_ > 0 || a.accumulate) return;
    for (const Tensor& t : {a.dweight, a.dbias}) {
      if (!t) continue;
      check(cudaMemsetAsync(t.data, 0, static_cast<std::size_t>(t.bytes()), stream_),
            "clearing the head's gradients");
    }
  }

  void bias_gradient(std::int64_t first, std::int64_t rows, void* dbias, bool accumulate) {
    check(launch_column_sums({act_of(d_.type), rows, d_.vocab, d_.row_length()}, s_.logits,
                             s_.partials, static_cast<float*>(dbias), accumulate || first > 0,
                             stream_),
          "summing the head's bias gradient");
  }

 private:
  /// Returns the product's input rows of the chunk that begins at `first`.
  [[nodiscard]] const void* input(std::int64_t first) const {
    return d_.is_scaled || d_.is_sparse ? s_.copied : at(a_.in, first * d_.width);
  }

  /// Returns the rows of the chunk's products; those beyond the rows that count are zeros.
  [[nodiscard]] std::int64_t rows_from(std::int64_t first) const {
    constexpr std::int64_t kMultiple = HeadDimensions::kSparseMultiple;
    const std::int64_t rows = std::min(d_.chunk, counted_ - first);
    return d_.is_sparse ? std::min(d_.chunk, ceil_div(rows, kMultiple) * kMultiple) : rows;
  }

  /// Returns a copy of the chunk's rows that count.
  [[nodiscard]] RowCopy copy_of(const void* in, std::int64_t first, void* out) const {
    return {.in = in,
            .list = s_.list + first,
            .taken = std::min(d_.chunk, counted_ - first),
            .rows = rows_from(first),
            .width = d_.width,
            .scale = a_.scale,
            .out = out};
  }

  void compute_logits(std::int64_t first, std::int64_t rows) {
    if (d_.is_sparse) {
      check(launch_gather_rows(act_of(d_.type), copy_of(a_.in.data, first, s_.copied), stream_),
            "gathering the head's rows");
    } else if (d_.is_scaled) {
      const Shape shape{rows, d_.width};
      run_scale(c_, {at(a_.in, first * d_.width), d_.type, shape}, a_.scale,
                {s_.copied, d_.type, shape}, stream_);
    }
    multiply(c_,
             {.m = rows,
              .n = d_.vocab,
              .k = d_.width,
              .type = d_.type,
              .out_type = d_.type,
              .a = {input(first), d_.width},
              .b = {a_.weight.data, d_.width, true},
              .out = s_.logits,
              .out_row_length = d_.row_length(),
              .epilogue = d_.has_bias ? ProductEpilogue::bias : ProductEpilogue::none,
              .extra = a_.bias.data},
             s_.workspace, stream_);
  }

  Context& c_;
  const HeadLoss& a_;
  HeadDimensions d_;
  Scratch scratch_;
  HeadScratch s_;
  cudaStream_t stream_;
  std::int64_t counted_ = 0;  // rows whose logits are computed: all, or those that count
};

}  // namespace

template <>
void run(Context& c, const HeadLoss& a, cudaStream_t stream) {
  Head(c, a, stream).for_chunks(false, 0, [](std::int64_t, std::int64_t) {});
}

template <>
void run(Context& c, const HeadLossBackward& a, cudaStream_t stream) {
  DS_ASSERT(a.loss_scale != 0.0F &&
            static_cast<bool>(a.dbias) == static_cast<bool>(a.forward.bias));
  Head head(c, a.forward, stream);
  head.for_chunks(true, a.loss_scale, [&](std::int64_t first, std::int64_t rows) {
    // The weight gradient comes first: it reads `in`, and `din` may share that memory.
    head.weight_gradient(first, rows, a.dweight.data, a.accumulate);
    if (a.dbias) head.bias_gradient(first, rows, a.dbias.data, a.accumulate);
    head.input_gradient(first, rows, a.din.data);
  });
  head.clear_rest(a);
}

template <>
void run(Context& c, const Logits& a, cudaStream_t stream) {
  const std::int64_t width = a.weight.shape[1], vocab = a.weight.shape[0];
  const std::int64_t rows = a.in.elements() / width;
  const DType type = a.in.dtype;
  Scratch scratch = c.scratch();
  auto* workspace = scratch.take<std::byte>(kProductWorkspace);
  ConstTensor in = a.in;
  if (a.scale != 1.0F) {
    const Shape shape{rows, width};
    const Tensor scaled{scratch.take<std::byte>(rows * width * size_of(type)), type, shape};
    run_scale(c, {a.in.data, type, shape}, a.scale, scaled, stream);
    in = scaled;
  }
  multiply(c,
           {.m = rows,
            .n = vocab,
            .k = width,
            .type = a.in.dtype,
            .out_type = DType::f32,
            .a = {in.data, width},
            .b = {a.weight.data, width, true},
            .out = a.out.data,
            .out_row_length = vocab},
           workspace, stream);
  if (!a.bias) return;
  auto* wide = scratch.take<float>(vocab);
  run(c, Cast{.in = a.bias, .out = {wide, DType::f32, {vocab}}}, stream);
  check(launch_add_bias({Act::f32, rows, vocab, vocab}, a.out.data, wide, stream),
        "adding the head's bias");
}

std::size_t head_scratch_bytes(const Kernels::Extents& e) {
  if (e.vocab == 0 || e.chunk_rows == 0 || e.micro * e.seq_len == 0) return 0;
  Scratch scratch;
  const HeadScratch pieces(scratch, HeadDimensions(e));
  return scratch.used();
}

}  // namespace ds::cuda
