// Tests of the safetensors header: written, read back, and refused when damaged.
#include "engine/safetensors/safetensors.h"

#include <doctest/doctest.h>

#include <numeric>

#include "engine/exchange/shards.h"
#include "support/mutate.h"

namespace {

const std::vector<ds::SafetensorsEntry> kEntries = {
    {.name = "a.weight", .dtype = ds::DType::f32, .shape = {2, 3}, .from = 0, .to = 24},
    {.name = "b \"q\"", .dtype = ds::DType::bf16, .shape = {5}, .from = 24, .to = 34},
    {.name = "empty", .dtype = ds::DType::f16, .shape = {0, 7}, .from = 34, .to = 34}};

std::string json_of(const std::string& header) {
  const std::int64_t bytes = ds::safetensors_header_bytes(header.substr(0, 8));
  CHECK(bytes == std::ssize(header) - 8);
  return header.substr(8);
}

bool is_refused(const std::string& json, std::int64_t bytes) {
  try {
    ds::parse_safetensors(json, bytes);
    return false;
  } catch (const ds::Error& error) {
    return error.kind() == ds::ErrorKind::config;
  }
}

}  // namespace

TEST_CASE("a header reads back, and tensors begin at a multiple of eight bytes") {
  const std::string header = ds::safetensors_header(kEntries);
  CHECK(header.size() % 8 == 0);
  CHECK(ds::parse_safetensors(json_of(header), 34) == kEntries);
}

TEST_CASE("a tensor outside of the file, or that does not fit its shape, is refused") {
  const std::string json = json_of(ds::safetensors_header(kEntries));
  CHECK(is_refused(json, 33));
  CHECK(is_refused("[1]", 34));
  CHECK(is_refused("{", 34));
  const auto one = [](const std::string& rest) { return R"({"x":{"dtype":"F32",)" + rest + "}}"; };
  CHECK_FALSE(is_refused(one(R"("shape":[2],"data_offsets":[0,8])"), 8));
  CHECK(is_refused(one(R"("shape":[2],"data_offsets":[0,12])"), 12));
  CHECK(is_refused(one(R"("shape":[2],"data_offsets":[0,9])"), 12));
  CHECK(is_refused(one(R"("shape":[2],"data_offsets":[8,0])"), 12));
  CHECK(is_refused(one(R"("shape":[-2],"data_offsets":[0,8])"), 12));
  CHECK(is_refused(one(R"("shape":[4294967296,4294967296],"data_offsets":[0,0])"), 12));
  CHECK(is_refused(one(R"("shape":[2],"data_offsets":[0])"), 12));
  CHECK(is_refused(one(R"("shape":"2","data_offsets":[0,8])"), 12));
  CHECK(is_refused(R"({"x":3})", 12));
  CHECK_THROWS_AS(ds::safetensors_header_bytes("1234567"), ds::Error);
  CHECK_THROWS_AS(ds::safetensors_header_bytes("\xff\xff\xff\xff\xff\xff\xff\xff"), ds::Error);
}

TEST_CASE("damaged headers are refused, or give only tensors inside the file") {
  ds::test::Mutator damaged({json_of(ds::safetensors_header(kEntries))}, 7);
  int refused = 0;
  for (int round = 0; round < 3000; ++round) {
    try {
      for (const ds::SafetensorsEntry& entry : ds::parse_safetensors(damaged.next(), 34)) {
        const std::int64_t count = std::accumulate(entry.shape.begin(), entry.shape.end(),
                                                   std::int64_t{1}, std::multiplies<>());
        REQUIRE(entry.to <= 34);
        REQUIRE(entry.to - entry.from == count * ds::size_of(entry.dtype));
      }
    } catch (const ds::Error& error) {
      ++refused;
      REQUIRE(error.kind() == ds::ErrorKind::config);
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("shards hold as many tensors as fit, in order, and a large one alone") {
  std::vector<ds::HfTensor> tensors;
  for (const std::int64_t elements : {10, 20, 100, 1, 1})
    tensors.push_back(
        {.name = "t" + std::to_string(tensors.size()), .shape = {elements}, .columns = elements});
  const auto shards = ds::cut_shards(tensors, ds::DType::f32, 120);
  REQUIRE(shards.size() == 3);
  CHECK(shards[0].name == "model-00001-of-00003.safetensors");
  CHECK(shards[0].tensors == std::vector<std::size_t>{0, 1});
  CHECK(shards[1].tensors == std::vector<std::size_t>{2});
  CHECK(shards[2].entries[1].from == 4);
  CHECK(shards[2].bytes == std::ssize(shards[2].header) + 8);
  CHECK(ds::cut_shards(tensors, ds::DType::bf16, 1 << 20).front().name == "model.safetensors");
  CHECK(ds::index_json(shards).find("\"t2\": \"model-00002-of-00003.safetensors\"") !=
        std::string::npos);
}
