#include "bench/primitives_bench.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "bench/compute_bench.hpp"
#include "bench/random.hpp"
#include "garuda/control.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/device_scan.hpp"
#include "operators/compute/primitives/radix_pass.hpp"

namespace garuda::bench {
namespace {

constexpr std::array<std::pair<std::string_view, PrimitiveOp>, 8> kOps{{{"copy", PrimitiveOp::copy},
                                                                        {"reduce", PrimitiveOp::reduce},
                                                                        {"scan", PrimitiveOp::scan},
                                                                        {"histogram", PrimitiveOp::histogram},
                                                                        {"partition", PrimitiveOp::partition},
                                                                        {"segments", PrimitiveOp::segments},
                                                                        {"compact", PrimitiveOp::compact},
                                                                        {"gather", PrimitiveOp::gather}}};
constexpr std::uint64_t kClusterRows = 4096;

using Words = std::vector<std::uint32_t>;

template <class Make>
Words make_words(std::uint64_t count, Make const& make) {
  Words words(count);
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, count, 1U << 14), [&](auto const& rows) {
    for (auto row = rows.begin(); row != rows.end(); ++row) words[row] = make(row);
  });
  return words;
}

Words random_words(std::uint64_t count, std::uint64_t seed) {
  return make_words(count, [&](auto row) { return static_cast<std::uint32_t>(RowRandom(seed, row).next()); });
}

/// A primitive with its inputs on the device: recorded again and again, and checked once.
class Primitive {
 public:
  Primitive(ComputeBench& bench, PrimitivesRequest const& request) : bench_(bench), request_(request) {}
  virtual ~Primitive() = default;

  virtual Result<void> prepare() = 0;
  /// As one phase: timestamps between passes would keep these from following each other closely.
  virtual Result<void> record() = 0;
  /// The same with a phase each of its passes.
  virtual Result<void> record_by_phase() { return record(); }
  /// Compares what record() left on the device with the host's result.
  virtual Result<void> check() = 0;
  virtual std::uint64_t bytes() const = 0;  ///< read and written once

 protected:
  compute::ComputeContext& context() { return bench_.context(); }
  std::uint64_t rows() const { return request_.rows; }

  Result<vk::Buffer> upload(Words const& words, char const* name) {
    return bench_.upload(std::as_bytes(std::span(words)), name);
  }

  Result<void> expect_equal(vk::Buffer const& buffer, Words const& expected, char const* what) {
    Words found(expected.size());
    GARUDA_TRY(context().download(buffer, std::as_writable_bytes(std::span(found))));
    auto const [at, wanted] = std::mismatch(found.begin(), found.end(), expected.begin());
    if (at == found.end()) return {};
    return fail(ErrorCode::device_failure, fmt::format("word {} of {} differs from the host's, {:#x}: {:#x}",
                                                       at - found.begin(), what, *wanted, *at));
  }

  ComputeBench& bench_;
  PrimitivesRequest const& request_;
};

class Copy final : public Primitive {
 public:
  using Primitive::Primitive;
  Result<void> prepare() override {
    words_ = random_words((rows() + 3) / 4 * 4, request_.seed);
    GARUDA_TRY_ASSIGN(source_, upload(words_, "copy source"));
    GARUDA_TRY_ASSIGN(target_, context().device_buffer(words_.size() * 4, "copy target"));
    return {};
  }
  Result<void> record() override {
    return compute::record_copy(context(), "copy", source_.address(), target_.address(), words_.size() * 4);
  }
  Result<void> check() override { return expect_equal(target_, words_, "the copy"); }
  std::uint64_t bytes() const override { return words_.size() * 8; }

 private:
  Words words_;
  vk::Buffer source_;
  vk::Buffer target_;
};

class Reduce final : public Primitive {
 public:
  using Primitive::Primitive;
  Result<void> prepare() override {
    words_ = random_words(rows(), request_.seed);
    GARUDA_TRY_ASSIGN(source_, upload(words_, "values"));
    GARUDA_TRY_ASSIGN(result_, context().device_buffer(8, "sum"));
    return {};
  }
  Result<void> record() override {
    return compute::record_reduce(context(), "reduce", compute::Reduction::add, source_.address(), rows(), 1, result_);
  }
  Result<void> check() override {
    auto const sum = std::accumulate(words_.begin(), words_.end(), std::uint64_t{0});
    return expect_equal(result_, {static_cast<std::uint32_t>(sum), static_cast<std::uint32_t>(sum >> 32)}, "the sum");
  }
  std::uint64_t bytes() const override { return rows() * 4; }

 private:
  Words words_;
  vk::Buffer source_;
  vk::Buffer result_;
};

class Scan final : public Primitive {
 public:
  using Primitive::Primitive;
  Result<void> prepare() override {
    words_ = random_words(rows(), request_.seed);
    GARUDA_TRY_ASSIGN(source_, upload(words_, "values"));
    GARUDA_TRY_ASSIGN(target_, context().device_buffer(rows() * 4, "sums"));
    GARUDA_TRY_ASSIGN(scan_, compute::DeviceScan::create(context(), rows()));
    return {};
  }
  Result<void> record() override {
    return scan_.record(context(), "scan", {source_.address(), target_.address(), rows()});
  }
  Result<void> check() override {
    Words expected(words_.size());
    std::exclusive_scan(words_.begin(), words_.end(), expected.begin(), std::uint32_t{0});
    return expect_equal(target_, expected, "the sums");
  }
  std::uint64_t bytes() const override { return rows() * 8; }

 private:
  Words words_;
  vk::Buffer source_;
  vk::Buffer target_;
  compute::DeviceScan scan_;
};

/// Rows of each bin start to the end: the counts alone when nothing moves.
class Partition : public Primitive {
 public:
  using Primitive::Primitive;
  Result<void> prepare() override {
    keys_ = random_words(rows(), request_.seed);
    GARUDA_TRY_ASSIGN(keys_in_, upload(keys_, "keys"));
    GARUDA_TRY_ASSIGN(keys_out_, context().device_buffer(rows() * 4, "partitioned keys"));
    moved_ = {rows(), {keys_in_.address(), keys_out_.address(), 1}, {}, false};
    for (std::uint32_t i = 0; i < request_.payload; ++i) {
      auto const words = make_words(rows(), [&](auto row) { return static_cast<std::uint32_t>(row + i); });
      GARUDA_TRY_ASSIGN(auto source, upload(words, "payload"));
      GARUDA_TRY_ASSIGN(auto target, context().device_buffer(rows() * 4, "partitioned payload"));
      moved_.payload.push_back({source.address(), target.address(), 1});
      payload_in_.push_back(std::move(source));
      payload_out_.push_back(std::move(target));
    }
    compute::RadixDigit const digit{request_.bits, 0, false, request_.stable};
    GARUDA_TRY_ASSIGN(pass_, compute::RadixPass::create(context(), rows(), 1, digit, request_.payload));
    return {};
  }
  Result<void> record() override { return pass_.record(context(), {"partition", "partition", "partition"}, moved_); }
  Result<void> record_by_phase() override { return pass_.record(context(), {}, moved_); }
  Result<void> check() override {
    auto const starts = expected_starts();
    GARUDA_TRY(expect_equal(pass_.starts(), starts, "the starts of bins"));
    auto order = stable_order(starts);
    if (!request_.stable) GARUDA_TRY(read_order(starts, order));
    GARUDA_TRY(expect_equal(keys_out_, make_words(rows(), [&](auto i) { return keys_[order[i]]; }), "the keys"));
    for (std::uint32_t c = 0; c < request_.payload; ++c)
      GARUDA_TRY(expect_equal(payload_out_[c], make_words(rows(), [&](auto i) { return order[i] + c; }), "a payload"));
    return {};
  }
  std::uint64_t bytes() const override { return rows() * 8 * (1 + request_.payload); }

 protected:
  compute::RadixRows moved_;
  compute::RadixPass pass_;

 private:
  std::uint32_t bin_of(std::uint32_t key) const { return key & ((1U << request_.bits) - 1); }

  Words expected_starts() const {
    Words starts((std::size_t{1} << request_.bits) + 1);
    for (auto const key : keys_) ++starts[bin_of(key) + 1];
    std::inclusive_scan(starts.begin(), starts.end(), starts.begin());
    return starts;
  }
  Words stable_order(Words starts) const {
    Words order(keys_.size());
    for (std::uint32_t row = 0; row < keys_.size(); ++row) order[starts[bin_of(keys_[row])]++] = row;
    return order;
  }
  /// Takes the order within bins from the device's first payload column, after a look that it holds the same rows.
  Result<void> read_order(Words const& starts, Words& order) {
    if (request_.payload == 0) return fail(ErrorCode::usage, "an order of any kind is checked by its first payload");
    Words found(order.size());
    GARUDA_TRY(context().download(payload_out_[0], std::as_writable_bytes(std::span(found))));
    auto sorted = found;
    tbb::parallel_for(std::size_t{0}, starts.size() - 1,
                      [&](auto bin) { std::sort(sorted.begin() + starts[bin], sorted.begin() + starts[bin + 1]); });
    if (sorted != order) return fail(ErrorCode::device_failure, "a bin has other rows than the host's");
    order = std::move(found);
    return {};
  }

  Words keys_;
  vk::Buffer keys_in_;
  vk::Buffer keys_out_;
  std::vector<vk::Buffer> payload_in_;
  std::vector<vk::Buffer> payload_out_;
};

/// The first pass of a partition alone, once the whole of it has been checked.
class Histogram final : public Partition {
 public:
  using Partition::Partition;
  Result<void> record() override {
    return is_checked_ ? pass_.record_counts(context(), "histogram", moved_) : Partition::record();
  }
  Result<void> record_by_phase() override { return record(); }
  Result<void> check() override {
    is_checked_ = true;
    return Partition::check();
  }
  std::uint64_t bytes() const override { return rows() * 4; }

 private:
  bool is_checked_ = false;
};

class Gather final : public Primitive {
 public:
  using Primitive::Primitive;
  Result<void> prepare() override {
    words_ = random_words(rows(), request_.seed);
    rows_ = make_words(rows(), [&](auto row) {
      RowRandom random(request_.seed + 1, row);
      auto const first = request_.clustered ? row / kClusterRows * kClusterRows : 0;
      return static_cast<std::uint32_t>(
          first + random.next_below(request_.clustered ? std::min(kClusterRows, rows() - first) : rows()));
    });
    GARUDA_TRY_ASSIGN(source_, upload(words_, "values"));
    GARUDA_TRY_ASSIGN(rows_in_, upload(rows_, "rows"));
    GARUDA_TRY_ASSIGN(target_, context().device_buffer(rows() * 4, "gathered"));
    return {};
  }
  Result<void> record() override {
    return compute::record_gather(context(), "gather", source_.address(), rows_in_.address(), target_.address(), rows(),
                                  1);
  }
  Result<void> check() override {
    return expect_equal(target_, make_words(rows(), [&](auto i) { return words_[rows_[i]]; }), "the gathered values");
  }
  std::uint64_t bytes() const override { return rows() * 12; }

 private:
  Words words_;
  Words rows_;
  vk::Buffer source_;
  vk::Buffer rows_in_;
  vk::Buffer target_;
};

class Segments final : public Primitive {
 public:
  using Primitive::Primitive;
  Result<void> prepare() override {
    words_ = random_words(rows(), request_.seed);
    auto const segments = num_segments();
    starts_ = make_words(segments + 1, [&](auto segment) {
      // Up to twice as long as on the average.
      auto const least = segment * rows() / segments;
      auto const most = std::min((segment + 1) * rows() / segments, rows());
      bool const is_end = segment == 0 || segment == segments;
      return static_cast<std::uint32_t>(
          is_end ? least : least + RowRandom(request_.seed + 1, segment).next_below(most - least + 1));
    });
    GARUDA_TRY_ASSIGN(source_, upload(words_, "values"));
    GARUDA_TRY_ASSIGN(starts_in_, upload(starts_, "starts of segments"));
    GARUDA_TRY_ASSIGN(results_, context().device_buffer(segments * 8, "sums of segments"));
    return {};
  }
  Result<void> record() override {
    return compute::record_segment_sums(context(), "segments", source_.address(), starts_in_.address(), rows(),
                                        static_cast<std::uint32_t>(num_segments()), results_);
  }
  Result<void> check() override {
    auto const expected = make_words(2 * num_segments(), [&](auto word) {
      auto const first = words_.begin() + starts_[word / 2];
      auto const sum = std::accumulate(first, words_.begin() + starts_[word / 2 + 1], std::uint64_t{0});
      return static_cast<std::uint32_t>(word % 2 == 0 ? sum : sum >> 32);
    });
    return expect_equal(results_, expected, "the sums of segments");
  }
  std::uint64_t bytes() const override { return rows() * 4 + num_segments() * 12; }

 private:
  std::uint64_t num_segments() const { return (rows() + request_.segment_rows - 1) / request_.segment_rows; }

  Words words_;
  Words starts_;
  vk::Buffer source_;
  vk::Buffer starts_in_;
  vk::Buffer results_;
};

/// Half of the elements, drawn by lot.
class Compact final : public Primitive {
 public:
  using Primitive::Primitive;
  Result<void> prepare() override {
    auto const flags = make_words(
        rows(), [&](auto row) { return static_cast<std::uint32_t>(RowRandom(request_.seed, row).next() & 1); });
    for (std::uint32_t row = 0; row < flags.size(); ++row)
      if (flags[row] != 0) listed_.push_back(row);
    GARUDA_TRY_ASSIGN(flags_, upload(flags, "flags"));
    GARUDA_TRY_ASSIGN(target_, context().device_buffer(rows() * 4, "listed elements"));
    GARUDA_TRY_ASSIGN(scan_, compute::DeviceScan::create(context(), rows()));
    return {};
  }
  Result<void> record() override {
    return compute::record_compact(context(), "compact", scan_, flags_.address(), target_.address(), rows());
  }
  Result<void> check() override {
    GARUDA_TRY_ASSIGN(auto const total, scan_.read_total(context(), "total"));
    if (total != listed_.size())
      return fail(ErrorCode::device_failure,
                  fmt::format("{} elements are listed, not the host's {}", total, listed_.size()));
    return expect_equal(target_, listed_, "the list of elements");
  }
  std::uint64_t bytes() const override { return (rows() + listed_.size()) * 4; }

 private:
  Words listed_;
  vk::Buffer flags_;
  vk::Buffer target_;
  compute::DeviceScan scan_;
};

std::unique_ptr<Primitive> make_primitive(ComputeBench& bench, PrimitivesRequest const& request) {
  switch (request.op) {
    case PrimitiveOp::copy:
      return std::make_unique<Copy>(bench, request);
    case PrimitiveOp::reduce:
      return std::make_unique<Reduce>(bench, request);
    case PrimitiveOp::scan:
      return std::make_unique<Scan>(bench, request);
    case PrimitiveOp::gather:
      return std::make_unique<Gather>(bench, request);
    case PrimitiveOp::histogram:
      return std::make_unique<Histogram>(bench, request);
    case PrimitiveOp::segments:
      return std::make_unique<Segments>(bench, request);
    case PrimitiveOp::compact:
      return std::make_unique<Compact>(bench, request);
    case PrimitiveOp::partition:
      break;
  }
  return std::make_unique<Partition>(bench, request);
}

Result<void> check(PrimitivesRequest const& request) {
  auto const most = compute::kMaxScanElements;
  if (request.rows == 0 || request.rows > most)
    return fail(ErrorCode::usage, fmt::format("--rows out of range [1, 2^28]: {}", request.rows));
  if (request.segment_rows == 0) return fail(ErrorCode::usage, "--segment-rows must be at least 1: 0");
  if (request.repeat == 0) return fail(ErrorCode::usage, "--repeat must be at least 1: 0");
  return {};
}

/// Applies what the request asks for; what the device cannot hold is an error.
Result<void> tune(PrimitivesRequest const& request, vk::DeviceLimits const& limits, compute::ComputeTuning& tuning) {
  GARUDA_TRY(compute::apply_tuning(request.tuning, limits, tuning));
  if (request.bits == 0 || request.bits > 10)
    return fail(ErrorCode::usage, fmt::format("--bits out of range [1, 10]: {}", request.bits));
  tuning.partition_bits = std::max(tuning.partition_bits, request.bits);
  tuning.stable_bits = std::max(tuning.stable_bits, request.bits);
  return compute::apply_tuning("", limits, tuning);
}

Record make_record(ComputeBench const& bench, PrimitivesRequest const& request, std::string op,
                   std::span<PhaseSample const> samples, std::span<PhaseSample const> by_phase, std::uint64_t bytes) {
  Record record;
  record.op = std::move(op);
  record.path = "compute";
  record.device = bench.device().name();
  record.driver = bench.device().driver();
  record.mode = "resident";
  record.rows = request.rows;
  record.rows_out = request.rows;
  record.time = summarise(times_of(samples));
  record.bytes = bytes;
  record.phases = median_sample(by_phase).phases;
  record.verified = true;
  return record;
}

std::string describe(compute::ComputeTuning const& tuning, std::uint32_t bits, bool stable) {
  auto const tile = compute::scatter_tile(tuning, bits, stable);
  return fmt::format("subgroup {}, scan {} × {}, partition {} × {} × {} tiles, {}", tuning.subgroup_size,
                     tuning.group_size, tuning.scan_items, tile.group_size, tile.items, tuning.partition_tiles,
                     stable ? "stable" : "in any order");
}

}  // namespace

Result<PrimitiveOp> parse_primitive_op(std::string_view text) {
  for (auto const& [name, op] : kOps)
    if (name == text) return op;
  return fail(ErrorCode::usage,
              fmt::format("unknown primitive (allowed: copy, reduce, scan, histogram, partition, gather, segments, "
                          "compact): '{}'",
                          text));
}

std::string_view to_string(PrimitiveOp op) noexcept {
  return std::ranges::find(kOps, op, &std::pair<std::string_view, PrimitiveOp>::second)->first;
}

Result<PrimitivesOutcome> run_primitives_bench(PrimitivesRequest const& request) {
  GARUDA_TRY(check(request));
  GARUDA_TRY_ASSIGN(
      auto bench, ComputeBench::open(request.device, request.subgroup_size,
                                     [&](auto& tuning, auto const& limits) { return tune(request, limits, tuning); }));
  auto const primitive = make_primitive(*bench, request);
  GARUDA_TRY(primitive->prepare());
  GARUDA_TRY(bench->time([&] { return primitive->record(); }));
  GARUDA_TRY(primitive->check());

  GARUDA_TRY(bench->warm_up([&] { return primitive->record(); }, request.cancelled));

  // As many bytes as the primitive moves, half of them read.
  auto const copied = std::max<std::uint64_t>(primitive->bytes() / 2 / 16 * 16, 16);
  GARUDA_TRY_ASSIGN(auto const copy_in, bench->context().device_buffer(copied, "copy source"));
  GARUDA_TRY_ASSIGN(auto const copy_out, bench->context().device_buffer(copied, "copy target"));
  std::vector<PhaseSample> samples;
  std::vector<PhaseSample> by_phase;
  std::vector<PhaseSample> copies;
  Control control;
  control.cancelled = request.cancelled;
  for (std::uint32_t i = 0; i < request.repeat; ++i) {
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled between repetitions");
    GARUDA_TRY_ASSIGN(auto copy, bench->time([&] {
      return compute::record_copy(bench->context(), "copy", copy_in.address(), copy_out.address(), copied);
    }));
    copies.push_back(std::move(copy));
    GARUDA_TRY_ASSIGN(auto sample, bench->time([&] { return primitive->record(); }));
    samples.push_back(std::move(sample));
    GARUDA_TRY_ASSIGN(auto phases, bench->time([&] { return primitive->record_by_phase(); }));
    by_phase.push_back(std::move(phases));
  }
  PrimitivesOutcome outcome;
  outcome.record =
      make_record(*bench, request, std::string(to_string(request.op)), samples, by_phase, primitive->bytes());
  outcome.copy = make_record(*bench, request, "copy", copies, copies, 2 * copied);
  outcome.clock = bench->clock();
  outcome.tuning = describe(bench->tuning(), request.bits, request.stable);
  return outcome;
}

}  // namespace garuda::bench
