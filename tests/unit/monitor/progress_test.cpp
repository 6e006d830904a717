// Tests of the progress line: its fields, how it shrinks, how it is redrawn.
#include "engine/monitor/progress.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <limits>

#include "engine/base/unique_fd.h"

namespace {

const ds::Progress kProgress{.step = 120,
                             .total_steps = 6000,
                             .loss = 1.8421,
                             .learning_rate = 9.1e-4,
                             .tokens_per_s = 18'400,
                             .peak_fraction = 0.62,
                             .seconds_left = 41};

/// Returns what a writer sends through a pipe.
template <class Body>
std::string written(ds::ProgressStyle style, Body body) {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const ds::UniqueFd out(ends[0]);
  ds::UniqueFd in(ends[1]);
  ds::ProgressWriter writer(in.get(), style);
  body(writer);
  in.reset();
  std::array<char, 4096> text{};
  const ssize_t size = ::read(out.get(), text.data(), text.size());
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

}  // namespace

TEST_CASE("a wide line has all fields; a narrow one drops whole fields from the end") {
  const std::string full =
      "step  120/6000  loss 1.842  lr 9.1e-04  18.4 k tokens/s  62 % of peak  41 s left";
  CHECK(ds::progress_line(kProgress, 200) == full);
  CHECK(ds::progress_line(kProgress, static_cast<int>(full.size())) == full);
  CHECK(ds::progress_line(kProgress, static_cast<int>(full.size()) - 1) ==
        "step  120/6000  loss 1.842  lr 9.1e-04  18.4 k tokens/s  62 % of peak");
  CHECK(ds::progress_line(kProgress, 30) == "step  120/6000  loss 1.842");
  CHECK(ds::progress_line(kProgress, 1) == "step  120/6000");
}

TEST_CASE("skipped steps are shown once there are any") {
  ds::Progress progress = kProgress;
  progress.skipped = 2;
  CHECK(ds::progress_line(progress, 50) == "step  120/6000  loss 1.842  lr 9.1e-04  2 skipped");
}

TEST_CASE("values that are unknown or not finite are shown as such or left out") {
  ds::Progress progress = kProgress;
  progress.loss = std::nan("");
  progress.peak_fraction = 0;
  progress.seconds_left = std::numeric_limits<double>::infinity();
  CHECK(ds::progress_line(progress, 200) ==
        "step  120/6000  loss nan  lr 9.1e-04  18.4 k tokens/s  ? left");
  progress.loss = 123456;
  CHECK(ds::progress_line(progress, 30) == "step  120/6000  loss 1.23e+05");
}

TEST_CASE("DSLAUNCH_LIVE decides whether the line is live; without it, the terminal does") {
  CHECK(ds::progress_style("76", false, 0).live);
  CHECK(ds::progress_style("76", false, 200).width == 75);
  CHECK(ds::progress_style("1", false, 0).width == 79);
  CHECK(ds::progress_style("", true, 60).live);
  CHECK(ds::progress_style("", true, 60).width == 59);
  CHECK_FALSE(ds::progress_style("", false, 60).live);
  CHECK_FALSE(ds::progress_style("0", true, 60).live);
}

TEST_CASE("a live line is redrawn over the last one; notes stand on lines of their own") {
  const std::string text = written({.live = true, .width = 79}, [](ds::ProgressWriter& writer) {
    writer.show(kProgress);
    ds::Progress shorter = kProgress;
    shorter.learning_rate = 0;
    shorter.peak_fraction = 0;
    writer.show(shorter);
    writer.note("validation loss 1.9");
    writer.note("again");
  });
  const std::string first = std::string(ds::progress_line(kProgress, 79)) + "\r";
  REQUIRE(text.starts_with(first));
  const std::string second = text.substr(first.size(), text.rfind('\r') - first.size());
  CHECK(second.size() == first.size() - 1);  // padded: nothing of the longer line stays
  CHECK(text.ends_with("\r\nvalidation loss 1.9\nagain\n"));
}

TEST_CASE("without a terminal each update is a plain line") {
  const std::string text = written({.live = false, .width = 120}, [](ds::ProgressWriter& writer) {
    writer.show(kProgress);
    writer.note("note");
    writer.finish();
  });
  CHECK(text == std::string(ds::progress_line(kProgress, 120)) + "\nnote\n");
}

TEST_CASE("the rate follows the steps, and the time left follows the rate") {
  ds::RateMeter meter;
  CHECK(std::isinf(meter.seconds_left(100)));
  meter.update(0, 10.0);
  meter.update(10, 15.0);
  CHECK(meter.steps_per_s() == 2.0);
  CHECK(meter.seconds_left(100) == 45.0);
  meter.update(10, 15.0);  // no progress and no time: no division by zero
  CHECK(meter.steps_per_s() == 2.0);
}
