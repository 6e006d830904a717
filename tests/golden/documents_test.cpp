// Tests that documents in a row are apart: one changes no bit of another, and a packed row has the
// loss and the gradients of its documents alone.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "golden/model_under_test.h"

namespace ds::golden {
namespace {

constexpr const char* kPackedModels[] = {"gpt2_tiny",  "gpt2_odd",     "llama_tiny",    "llama_odd",
                                         "qwen2_tiny", "llama_scaled", "mistral_linear"};

/// A document: its tokens, and the token after the last.
using Document = std::vector<std::int32_t>;

/// Rows of T tokens, the first of which hold documents.
class Rows {
 public:
  Rows(std::size_t rows, std::size_t length)
      : length_(length),
        batch_{.tokens = Document(rows * length, 0),
               .targets = Document(rows * length, -1),
               .documents = Document(rows * length, -1),
               .positions = Document(rows * length, 0)} {}

  void put(const Document& document, std::size_t row, std::size_t column, std::int32_t number) {
    for (std::size_t i = 0; i + 1 < document.size(); ++i) {
      const std::size_t at = row * length_ + column + i;
      batch_.tokens[at] = document[i];
      batch_.targets[at] = document[i + 1];
      batch_.documents[at] = number;
      batch_.positions[at] = static_cast<std::int32_t>(i);
    }
  }
  [[nodiscard]] const Batch& batch() const { return batch_; }

 private:
  std::size_t length_;
  Batch batch_;
};

struct Placed {
  Document document;
  std::size_t row, column;
};

/// Documents that fill the rows of a model but for some padding.
std::vector<Placed> documents_of(const Fixture& fixture) {
  const std::size_t rows = fixture.model("micro"), length = fixture.model("seq_len");
  const auto vocab = static_cast<std::int32_t>(fixture.model("valid_vocab"));
  std::vector<Placed> placed;
  std::uint64_t counter = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0, k = row; column + 1 < length; ++k) {
      const std::size_t size = std::min(1 + k * 5 % 9, length - 1 - column);
      Document document;
      for (std::size_t i = 0; i <= size; ++i)
        document.push_back(static_cast<std::int32_t>(mix(counter++) % 1000) % vocab);
      placed.push_back({std::move(document), row, column});
      column += size;
    }
  }
  return placed;
}

Batch packed(const Fixture& fixture, const std::vector<Placed>& documents) {
  Rows rows(fixture.model("micro"), fixture.model("seq_len"));
  for (std::size_t d = 0; d < documents.size(); ++d) {
    // Numbers need not rise.
    const auto number = static_cast<std::int32_t>(documents.size() - d);
    rows.put(documents[d].document, documents[d].row, documents[d].column, number);
  }
  return rows.batch();
}

double loss_sum(const ModelUnderTest::Step& step, const Batch& batch) {
  const auto is_target = [](std::int32_t target) { return target >= 0; };
  return step.loss * static_cast<double>(std::ranges::count_if(batch.targets, is_target));
}

constexpr DataFields kFields{.documents = true};

TEST_CASE("changing a document changes no bit of the others' logits") {
  for (const char* name : kPackedModels) {
    CAPTURE(name);
    const Fixture fixture(DS_FIXTURES, name);
    std::vector<Placed> documents = documents_of(fixture);
    for (const DType act : {DType::f32, DType::bf16}) {
      ModelUnderTest model(fixture, act, {}, kFields);
      const Batch before = packed(fixture, documents);
      const Values logits = model.logits(before);
      const std::size_t width = logits.size() / before.tokens.size();
      const std::size_t changed = documents.size() / 2;
      Document& document = documents[changed].document;
      for (std::int32_t& token : document) token = (token + 1) % 7;
      const Batch after = packed(fixture, documents);
      const Values now = model.logits(after);
      const auto number = static_cast<std::int32_t>(documents.size() - changed);
      std::size_t same = 0, other = 0;
      for (std::size_t i = 0; i < logits.size(); ++i) {
        const std::size_t row = i / width;
        const bool own = before.documents[row] == number;
        if (own) other += logits[i] != now[i];
        if (!own && before.documents[row] >= 0) {
          ++same;
          REQUIRE(logits[i] == now[i]);
        }
      }
      CHECK(same > width);
      CHECK(other > 0);
    }
  }
}

TEST_CASE("a packed row's loss and gradients are the sums of its documents alone") {
  for (const char* name : kPackedModels) {
    CAPTURE(name);
    const Fixture fixture(DS_FIXTURES, name);
    const std::vector<Placed> documents = documents_of(fixture);
    const Batch all = packed(fixture, documents);
    ModelUnderTest model(fixture, DType::f32, {}, kFields);
    const double loss = loss_sum(model.step(all, 0), all);
    std::map<std::string, Values> want;
    double sum = 0;
    ModelUnderTest alone(fixture, DType::f32, {}, kFields);
    for (const Placed& placed : documents) {
      Rows rows(fixture.model("micro"), fixture.model("seq_len"));
      rows.put(placed.document, 0, 0, 0);
      sum += loss_sum(alone.step(rows.batch(), 0), rows.batch());
      for (const Fixture::Parameter& parameter : fixture.parameters()) {
        const Values& gradient = alone.gradient(parameter.name);
        Values& total = want[parameter.name];
        total.resize(gradient.size());
        for (std::size_t i = 0; i < total.size(); ++i) total[i] += gradient[i];
      }
    }
    CHECK(std::abs(loss - sum) <= 1e-6 * sum);
    double worst = 0;
    for (const Fixture::Parameter& parameter : fixture.parameters()) {
      CAPTURE(parameter.name);
      const Values &got = model.gradient(parameter.name), &total = want[parameter.name];
      double difference = 0, norm = 0;
      for (std::size_t i = 0; i < total.size(); ++i) {
        difference += (got[i] - total[i]) * (got[i] - total[i]);
        norm += total[i] * total[i];
      }
      const double error = std::sqrt(difference / norm);
      CHECK(error <= 1e-6);
      worst = std::max(worst, error);
    }
    fmt::print("{}: {} documents packed, worst gradient {:.1e} of its norm\n", name,
               documents.size(), worst);
  }
}

TEST_CASE("the loss is the mean over all targets, however many a micro-batch has") {
  for (const char* name : {"gpt2_tiny", "llama_tiny"}) {
    CAPTURE(name);
    const Fixture fixture(DS_FIXTURES, name);
    Batch batch{fixture.array<std::int32_t>("tokens.0"), fixture.array<std::int32_t>("targets.0")};
    const std::size_t length = fixture.model("seq_len");
    for (std::size_t i = 0; i < batch.targets.size(); ++i)
      if (i % length > i / length * 3) batch.targets[i] = -1;  // 1, 4, 7, 10 targets
    ModelUnderTest whole(fixture, DType::f32), parts(fixture, DType::f32, {.accum = 4});
    const ModelUnderTest::Step a = whole.step(batch, 0), b = parts.step(batch, 0);
    CHECK(std::abs(a.loss - b.loss) <= 1e-6 * a.loss);
    CHECK(std::abs(a.norm - b.norm) <= 1e-5 * a.norm);
  }
}

TEST_CASE("T5: a document of either stack changes no bit of another document's logits") {
  const Fixture fixture(DS_FIXTURES, "t5_odd");
  const auto vocab = static_cast<std::int32_t>(fixture.model("valid_vocab"));
  for (const DType act : {DType::f32, DType::bf16}) {
    ModelUnderTest model(fixture, act);
    const Batch batch = batch_of(fixture, 0);
    const Values before = model.logits(batch);
    for (const bool in_encoder : {false, true}) {
      Batch other = batch;
      const auto& documents = in_encoder ? batch.encoder_documents : batch.documents;
      auto& tokens = in_encoder ? other.encoder_tokens : other.tokens;
      for (std::size_t i = 0; i < tokens.size(); ++i)
        if (documents[i] != 0) tokens[i] = (tokens[i] + 1) % vocab;  // padding too
      const Values after = model.logits(other);
      std::size_t changed = 0;
      for (std::size_t i = 0; i < before.size(); ++i) {
        const bool is_same = before[i] == after[i];
        if (batch.documents[i / static_cast<std::size_t>(vocab)] == 0) CHECK(is_same);
        if (!is_same) ++changed;
      }
      CHECK(changed > 0);
    }
  }
}

}  // namespace
}  // namespace ds::golden
