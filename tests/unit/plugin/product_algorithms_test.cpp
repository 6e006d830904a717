// Keys of matrix products, and the cache of the algorithms chosen for them.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine/kernels/cuda/algorithm_cache.h"
#include "engine/kernels/cuda/product.h"

namespace ds::cuda {
namespace {

const void* address(std::uintptr_t at) { return reinterpret_cast<const void*>(at); }

Product some_product() {
  return {.m = 512,
          .n = 768,
          .k = 3072,
          .type = DType::bf16,
          .out_type = DType::bf16,
          .a = {address(0x1000), 3072},
          .b = {address(0x2000), 768},
          .out = reinterpret_cast<void*>(0x3000),
          .out_row_length = 768};
}

Algorithm some_algorithm(std::uint64_t seed) {
  Algorithm algorithm;
  for (std::size_t i = 0; i < algorithm.words.size(); ++i) {
    algorithm.words[i] = (seed + i) * 0x9E3779B97F4A7C15U;
  }
  algorithm.workspace_bytes = seed << 20;
  return algorithm;
}

AlgorithmCache some_cache() {
  AlgorithmCache cache("NVIDIA H200, 9.0, 132 multiprocessors, cublasLt 130100");
  Product product = some_product();
  for (std::uint64_t i = 0; i < 5; ++i) {
    product.m = static_cast<std::int64_t>(i + 1) * 100;
    cache.put(key_of(product, 1 << 20), some_algorithm(i));
  }
  return cache;
}

AlgorithmCache empty_cache() {
  return AlgorithmCache("NVIDIA H200, 9.0, 132 multiprocessors, cublasLt 130100");
}

/// A folder that goes with the test.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "productsXXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string path;
};

}  // namespace

TEST_CASE("product keys: what decides about an algorithm, and what does not") {
  const Product product = some_product();
  const ProductKey key = key_of(product, 1 << 20);
  const auto differs = [&](auto change) {
    Product other = product;
    change(other);
    return key_of(other, 1 << 20) != key;
  };
  CHECK(differs([](Product& p) { p.m = 513; }));
  CHECK(differs([](Product& p) { p.k = 64; }));
  CHECK(differs([](Product& p) { p.a.row_length = 4096; }));
  CHECK(differs([](Product& p) { p.a.transposed = true; }));
  CHECK(differs([](Product& p) { p.out_type = DType::f32; }));
  CHECK(differs([](Product& p) { p.epilogue = ProductEpilogue::bias; }));
  CHECK(differs([](Product& p) { p.a.data = address(0x1008); }));
  CHECK(key_of(product, 2 << 20) != key);

  CHECK_FALSE(differs([](Product& p) { p.accumulate = true; }));
  // Beyond 16 bytes, where memory lies must not change which algorithm runs.
  CHECK_FALSE(differs([](Product& p) { p.a.data = address(0x1010); }));
  CHECK_FALSE(differs([](Product& p) { p.a.data = address(0x7000000); }));

  Product one = product, other = product;
  one.a.transposed = true;
  other.b.transposed = true;
  CHECK(key_of(one, 0) != key_of(other, 0));
}

TEST_CASE("products: alignments, and names for people") {
  CHECK(alignment_of(address(0)) == 16);
  CHECK(alignment_of(address(0x1000)) == 16);
  CHECK(alignment_of(address(0x1008)) == 8);
  CHECK(alignment_of(address(0x1002)) == 2);
  Product product = some_product();
  CHECK(describe(product) == "bf16 512 x 768 x 3072 NN");
  product.out_type = DType::f32;
  product.a.transposed = true;
  CHECK(describe(product) == "bf16->f32 512 x 768 x 3072 TN");
  product = some_product();
  product.epilogue = ProductEpilogue::gelu_slope;
  product.b.transposed = true;
  CHECK(describe(product) == "bf16 512 x 768 x 3072 NT * GELU's slope");
}

TEST_CASE("algorithm cache: what was put is found, a later choice replaces an earlier one") {
  AlgorithmCache cache = some_cache();
  CHECK(cache.size() == 5);
  Product product = some_product();
  product.m = 300;
  const ProductKey key = key_of(product, 1 << 20);
  REQUIRE(cache.find(key) != nullptr);
  CHECK(*cache.find(key) == some_algorithm(2));
  cache.put(key, some_algorithm(9));
  CHECK(*cache.find(key) == some_algorithm(9));
  CHECK(cache.size() == 5);
  product.m = 301;
  CHECK(cache.find(key_of(product, 1 << 20)) == nullptr);
}

TEST_CASE("algorithm cache: its text comes back whole") {
  const AlgorithmCache cache = some_cache();
  AlgorithmCache again = empty_cache();
  CHECK(again.take(cache.text()) == "");
  CHECK(again.text() == cache.text());
  CHECK(again.size() == 5);
  CHECK(again.take(empty_cache().text()) == "");
  CHECK(again.size() == 5);
}

TEST_CASE("algorithm cache: damaged, cut, foreign and unknown texts are refused whole") {
  const std::string text = some_cache().text();
  const auto reason = [](const std::string& changed) {
    AlgorithmCache cache = empty_cache();
    const std::string why = cache.take(changed);
    CHECK(cache.size() == 0);
    return why;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    CAPTURE(i);
    std::string changed = text;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    CHECK_FALSE(reason(changed).empty());
    CHECK_FALSE(reason(text.substr(0, i)).empty());
  }
  CHECK_FALSE(reason(text + "\n").empty());
  AlgorithmCache other("NVIDIA A100, 8.0, 108 multiprocessors, cublasLt 130100");
  other.put(key_of(some_product(), 0), some_algorithm(1));
  CHECK(reason(other.text()).find("A100") != std::string::npos);
}

TEST_CASE("algorithm cache: its file") {
  const Folder folder;
  const std::string deep = folder.path + "/cache/of/algorithms";
  const AlgorithmCache cache = some_cache();
  AlgorithmCache again = empty_cache();
  CHECK(again.load(deep) == "");  // no file yet
  CHECK(again.size() == 0);
  CHECK(cache.save(deep) == "");
  CHECK(cache.save(deep) == "");  // over the first one
  CHECK(again.load(deep) == "");
  CHECK(again.text() == cache.text());
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(deep)) {
    ++files;
    CHECK(file.path() == cache.path(deep));
  }
  CHECK(files == 1);

  std::ofstream(cache.path(deep), std::ios::app) << "more\n";
  AlgorithmCache third = empty_cache();
  CHECK(third.load(deep).find(cache.path(deep)) != std::string::npos);
  CHECK(third.size() == 0);

  std::ofstream(folder.path + "/file") << "in the way\n";
  CHECK(cache.save(folder.path + "/file/below").find("/file/below") != std::string::npos);
  AlgorithmCache device("another device");
  CHECK(device.path(deep) != cache.path(deep));
}

}  // namespace ds::cuda
