// Tests of parse_rates(), lower_bound() and device_share_of().
#include "engine/plan/device_share.h"
#include "engine/plan/rates.h"

#include <doctest/doctest.h>

using namespace ds;  // NOLINT: the tests of one file

TEST_CASE("rates are words with decimal units") {
  const Rates rates = parse_rates("flops=800T,net=1.5G,nvme=12G/6G,host=40e9,link=3k");
  CHECK(rates.flops == 800e12);
  CHECK(rates.net == 1.5e9);
  CHECK(rates.nvme_read == 12e9);
  CHECK(rates.nvme_write == 6e9);
  CHECK(rates.host == 40e9);
  CHECK(rates.link == 3000);
  CHECK(rates.pcie == 0);
  CHECK(parse_rates("nvme=6G").nvme_write == 6e9);
}

TEST_CASE("a word that is not a rate is named") {
  for (const char* text : {"", "flops", "flops=", "flops=x", "flops=-1", "flops=0", "flops=1Q",
                           "flops=1GG", "flop=1G", "nvme=1G/", "net=1G,", "net=inf", "net=nan"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH_AS(parse_rates(text), doctest::Contains("is not a rate"), Error);
  }
}

TEST_CASE("the least time is the largest part if all overlap, and the sum if none do") {
  const StepWork work{.flops = 100,
                      .traffic = {.sent_in_node = 40,
                                  .sent_to_nodes = 30,
                                  .received_in_node = 20,
                                  .received_from_nodes = 60,
                                  .to_host = 5,
                                  .to_device = 10,
                                  .nvme_read = 8,
                                  .nvme_written = 4,
                                  .optimizer_device = 9,
                                  .optimizer_host = 7}};
  const Rates rates{.flops = 10,
                    .link = 4,
                    .net = 10,
                    .pcie = 5,
                    .device = 3,
                    .host = 7,
                    .nvme_read = 4,
                    .nvme_write = 2};
  // compute 10, links 40 / 4 = 10, network 2 * 60 / 10 = 12, pcie 10 / 5 = 2, optimizer 9 / 3 = 3,
  // on the host 2 * 7 / 7 = 2, reads 2 * 8 / 4 = 4, writes 2 * 4 / 2 = 4.
  const LowerBound bound = lower_bound(work, rates, /*slots=*/2);
  CHECK(bound.parts.size() == 8);
  CHECK(bound.overlapped == 12);
  CHECK(bound.in_turn == 47);
  CHECK(lower_bound(work, {.flops = 10}, 2).parts.size() == 1);
  CHECK(lower_bound(work, {}, 2).parts.empty());
}

TEST_CASE("the device's share of offloaded states ends both sides at the same time") {
  // 12 f / 55 = (28 - 4 f) / 400 has f = 0.307.
  CHECK(ds::device_share_of({.pcie = 55e9, .host = 400e9}) == 31);
  // Slow host memory is busy with the tiles that pass through it anyway: the device gets all of
  // them.
  CHECK(ds::device_share_of({.pcie = 55e9, .host = 100e9}) == 100);
  CHECK(ds::device_share_of({.pcie = 1e9, .host = 400e9}) == 1);
  CHECK(ds::device_share_of({.host = 400e9}) == 100);
}
