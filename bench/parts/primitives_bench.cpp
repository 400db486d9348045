#include "bench/parts/parts.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "bench/parts/vulkan_device.hpp"
#include "bench/workloads/random.hpp"
#include "bench/workloads/words.hpp"
#include "operators/compute/primitives/device_primitives.hpp"
#include "operators/compute/primitives/radix_side.hpp"

namespace garuda::bench {
namespace {

constexpr std::array kOps{
    Word<PrimitiveOp>{"copy", PrimitiveOp::copy},           Word<PrimitiveOp>{"reduce", PrimitiveOp::reduce},
    Word<PrimitiveOp>{"scan", PrimitiveOp::scan},           Word<PrimitiveOp>{"histogram", PrimitiveOp::histogram},
    Word<PrimitiveOp>{"partition", PrimitiveOp::partition}, Word<PrimitiveOp>{"gather", PrimitiveOp::gather},
    Word<PrimitiveOp>{"segments", PrimitiveOp::segments},   Word<PrimitiveOp>{"compact", PrimitiveOp::compact}};
constexpr std::uint64_t kClusterRows = 4096;

using Words = std::vector<std::uint32_t>;
using Step = std::function<Result<void>()>;

/// A primitive with its inputs on the device: recorded again and again, and checked once.
struct Primitive {
  /// As one phase: timestamps between passes would keep these from following each other closely.
  Step record;
  Step record_by_phase;     ///< the same with a phase each of its passes; none: record
  Step check;               ///< compares what record() left on the device with the host's result
  std::uint64_t bytes = 0;  ///< read and written once
  Step record_whole;        ///< what check() is for where record() is a part of it
};

/// Makes primitives on one device, whose buffers it keeps.
class Primitives {
 public:
  Primitives(ComputeBench& bench, PrimitivesRequest const& request)
      : bench_(bench), context_(bench.context()), request_(request), rows_(request.rows) {}

  Result<Primitive> make() {
    switch (request_.op) {
      case PrimitiveOp::copy:
        return copy();
      case PrimitiveOp::reduce:
        return reduce();
      case PrimitiveOp::scan:
        return scan();
      case PrimitiveOp::gather:
        return gather();
      case PrimitiveOp::segments:
        return segments();
      case PrimitiveOp::compact:
        return compact();
      case PrimitiveOp::histogram:
      case PrimitiveOp::partition:
        break;
    }
    return partition();
  }

 private:
  using Address = std::uint64_t;

  Result<Address> upload(Words const& words, char const* name) {
    GARUDA_TRY_ASSIGN(auto buffer, bench_.upload(std::as_bytes(std::span(words)), name));
    buffers_.push_back(std::make_unique<vk::Buffer>(std::move(buffer)));
    return buffers_.back()->address();
  }
  Result<vk::Buffer const*> result(std::uint64_t words, char const* name) {
    GARUDA_TRY_ASSIGN(auto buffer, context_.device_buffer(words * 4, name));
    buffers_.push_back(std::make_unique<vk::Buffer>(std::move(buffer)));
    return buffers_.back().get();
  }
  Result<Words> download(vk::Buffer const& buffer, std::size_t words) {
    Words found(words);
    GARUDA_TRY(context_.download(buffer, std::as_writable_bytes(std::span(found))));
    return found;
  }

  Result<void> expect_equal(vk::Buffer const& buffer, Words const& expected, char const* what) {
    GARUDA_TRY_ASSIGN(auto const found, download(buffer, expected.size()));
    auto const [at, wanted] = std::mismatch(found.begin(), found.end(), expected.begin());
    if (at == found.end()) return {};
    return fail(ErrorCode::device_failure, fmt::format("word {} of {} differs from the host's, {:#x}: {:#x}",
                                                       at - found.begin(), what, *wanted, *at));
  }

  /// Uploads random words, which stay for the check.
  Result<Address> upload_values(std::uint64_t count) {
    words_ = random_words(count, request_.seed);
    return upload(words_, "values");
  }
  /// A primitive whose result is one buffer.
  Primitive primitive(std::uint64_t bytes, vk::Buffer const* target, char const* what,
                      std::function<Words()> const& expected, Step record) {
    Primitive made;
    made.bytes = bytes;
    made.record = std::move(record);
    made.check = [=, this] { return expect_equal(*target, expected(), what); };
    return made;
  }

  Result<Primitive> copy() {
    auto const words = (rows_ + 3) / 4 * 4;
    GARUDA_TRY_ASSIGN(auto const source, upload_values(words));
    GARUDA_TRY_ASSIGN(auto const* const target, result(words, "copy target"));
    return primitive(
        words * 8, target, "the copy", [this] { return words_; },
        [=, this] { return compute::record_copy(context_, "copy", source, target->address(), words * 4); });
  }

  Result<Primitive> reduce() {
    GARUDA_TRY_ASSIGN(auto const source, upload_values(rows_));
    GARUDA_TRY_ASSIGN(auto const* const sum, result(2, "sum"));
    auto const expected = [this] {
      auto const all = std::accumulate(words_.begin(), words_.end(), std::uint64_t{0});
      return Words{static_cast<std::uint32_t>(all), static_cast<std::uint32_t>(all >> 32)};
    };
    return primitive(rows_ * 4, sum, "the sum", expected, [=, this] {
      return compute::record_reduce(context_, "reduce", compute::Reduction::add, source, rows_, 1, *sum);
    });
  }

  Result<Primitive> scan() {
    GARUDA_TRY_ASSIGN(auto const source, upload_values(rows_));
    GARUDA_TRY_ASSIGN(auto const* const target, result(rows_, "sums"));
    GARUDA_TRY_ASSIGN(scan_, compute::DeviceScan::create(context_, rows_));
    auto const expected = [this] {
      Words sums(words_.size());
      std::exclusive_scan(words_.begin(), words_.end(), sums.begin(), std::uint32_t{0});
      return sums;
    };
    return primitive(rows_ * 8, target, "the sums", expected, [=, this] {
      return scan_.record(context_, "scan", {source, target->address(), rows_});
    });
  }

  Result<Primitive> gather() {
    gathered_ = make_words(rows_, [&](auto row) {
      RowRandom random(request_.seed + 1, row);
      auto const first = request_.clustered ? row / kClusterRows * kClusterRows : 0;
      return first + random.next_below(request_.clustered ? std::min(kClusterRows, rows_ - first) : rows_);
    });
    GARUDA_TRY_ASSIGN(auto const source, upload_values(rows_));
    GARUDA_TRY_ASSIGN(auto const numbers, upload(gathered_, "rows"));
    GARUDA_TRY_ASSIGN(auto const* const target, result(rows_, "gathered"));
    auto const expected = [this] { return make_words(rows_, [&](auto i) { return words_[gathered_[i]]; }); };
    return primitive(rows_ * 12, target, "the gathered values", expected, [=, this] {
      return compute::record_gather(context_, "gather", source, numbers, target->address(), rows_, 1);
    });
  }

  Result<Primitive> segments() {
    auto const count = (rows_ + request_.segment_rows - 1) / request_.segment_rows;
    starts_ = make_words(count + 1, [&](auto segment) {
      // Up to twice as long as on the average.
      auto const least = segment * rows_ / count;
      auto const most = std::min((segment + 1) * rows_ / count, rows_);
      bool const is_end = segment == 0 || segment == count;
      return is_end ? least : least + RowRandom(request_.seed + 1, segment).next_below(most - least + 1);
    });
    GARUDA_TRY_ASSIGN(auto const source, upload_values(rows_));
    GARUDA_TRY_ASSIGN(auto const starts, upload(starts_, "starts of segments"));
    GARUDA_TRY_ASSIGN(auto const* const sums, result(2 * count, "sums of segments"));
    auto const expected = [this, count] {
      return make_words(2 * count, [&](auto word) {
        auto const first = words_.begin() + starts_[word / 2];
        auto const last = words_.begin() + starts_[word / 2 + 1];
        auto const sum = std::accumulate(first, last, std::uint64_t{0});
        return word % 2 == 0 ? sum : sum >> 32;
      });
    };
    return primitive(rows_ * 4 + count * 12, sums, "the sums of segments", expected, [=, this] {
      return compute::record_segment_sums(context_, "segments", source, starts, rows_,
                                          static_cast<std::uint32_t>(count), *sums);
    });
  }

  /// Half of the elements, drawn by lot.
  Result<Primitive> compact() {
    auto const flags = make_words(rows_, [&](auto row) { return RowRandom(request_.seed, row).next() & 1; });
    for (std::uint32_t row = 0; row < rows_; ++row)
      if (flags[row] != 0) words_.push_back(row);
    GARUDA_TRY_ASSIGN(auto const source, upload(flags, "flags"));
    GARUDA_TRY_ASSIGN(auto const* const target, result(rows_, "listed elements"));
    GARUDA_TRY_ASSIGN(scan_, compute::DeviceScan::create(context_, rows_));
    return Primitive{
        [=, this] { return compute::record_compact(context_, "compact", scan_, source, target->address(), rows_); },
        {},
        [=, this]() -> Result<void> {
          GARUDA_TRY_ASSIGN(auto const total, scan_.read_total(context_, "total"));
          if (total != words_.size())
            return fail(ErrorCode::device_failure,
                        fmt::format("{} elements are listed, not the host's {}", total, words_.size()));
          return expect_equal(*target, words_, "the list of elements");
        },
        (rows_ + words_.size()) * 4,
        {}};
  }

  /// Rows of each bin from the start to the end; of op histogram the first pass alone is timed, which counts, once the
  /// whole has been checked.
  Result<Primitive> partition() {
    words_ = random_words(rows_, request_.seed);
    GARUDA_TRY_ASSIGN(auto const keys, upload(words_, "keys"));
    GARUDA_TRY_ASSIGN(auto const* const keys_out, result(rows_, "partitioned keys"));
    moved_ = {rows_, {keys, keys_out->address(), 1}, {}, false};
    std::vector<vk::Buffer const*> payload;
    for (std::uint32_t i = 0; i < request_.payload; ++i) {
      GARUDA_TRY_ASSIGN(auto const source, upload(make_words(rows_, [&](auto row) { return row + i; }), "payload"));
      GARUDA_TRY_ASSIGN(payload.emplace_back(), result(rows_, "partitioned payload"));
      moved_.payload.push_back({source, payload.back()->address(), 1});
    }
    compute::RadixDigit const digit{request_.bits, 0, false, request_.stable};
    GARUDA_TRY_ASSIGN(pass_, compute::RadixPass::create(context_, rows_, 1, digit, request_.payload));
    Primitive made;
    made.check = [=, this] { return check_partition(*keys_out, payload); };
    made.record = [this] { return pass_.record(context_, {"partition", "partition", "partition"}, moved_); };
    made.record_by_phase = [this] { return pass_.record(context_, {}, moved_); };
    made.bytes = rows_ * 8 * (1 + request_.payload);
    if (request_.op == PrimitiveOp::partition) return made;
    made.record_whole =
        std::exchange(made.record, [this] { return pass_.record_counts(context_, "histogram", moved_); });
    made.record_by_phase = {};
    made.bytes = rows_ * 4;
    return made;
  }

  Result<void> check_partition(vk::Buffer const& keys, std::vector<vk::Buffer const*> const& payload) {
    auto const bin_of = [&](std::uint32_t key) { return key & ((1U << request_.bits) - 1); };
    Words starts((std::size_t{1} << request_.bits) + 1);
    for (auto const key : words_) ++starts[bin_of(key) + 1];
    std::inclusive_scan(starts.begin(), starts.end(), starts.begin());
    GARUDA_TRY(expect_equal(pass_.starts(), starts, "the starts of bins"));
    Words order(words_.size());
    auto next = starts;
    for (std::uint32_t row = 0; row < words_.size(); ++row) order[next[bin_of(words_[row])]++] = row;
    if (!request_.stable) GARUDA_TRY(read_order(starts, payload, order));
    GARUDA_TRY(expect_equal(keys, make_words(rows_, [&](auto i) { return words_[order[i]]; }), "the keys"));
    for (std::uint32_t c = 0; c < payload.size(); ++c)
      GARUDA_TRY(expect_equal(*payload[c], make_words(rows_, [&](auto i) { return order[i] + c; }), "a payload"));
    return {};
  }

  /// Takes the order within bins from the device's first payload column, after a look that it holds the same rows.
  Result<void> read_order(Words const& starts, std::vector<vk::Buffer const*> const& payload, Words& order) {
    if (payload.empty()) return fail(ErrorCode::usage, "an order of any kind is checked by its first payload");
    GARUDA_TRY_ASSIGN(auto found, download(*payload[0], order.size()));
    auto sorted = found;
    tbb::parallel_for(std::size_t{0}, starts.size() - 1,
                      [&](auto bin) { std::sort(sorted.begin() + starts[bin], sorted.begin() + starts[bin + 1]); });
    if (sorted != order) return fail(ErrorCode::device_failure, "a bin has other rows than the host's");
    order = std::move(found);
    return {};
  }

  ComputeBench& bench_;
  compute::ComputeContext& context_;
  PrimitivesRequest const& request_;
  std::uint64_t rows_;
  std::vector<std::unique_ptr<vk::Buffer>> buffers_;
  Words words_;  ///< values, keys, or the elements that are listed
  Words gathered_;
  Words starts_;
  compute::DeviceScan scan_;
  compute::RadixRows moved_;
  compute::RadixPass pass_;
};

Result<void> check(PrimitivesRequest const& request) {
  if (request.rows == 0 || request.rows > compute::kMaxScanElements)
    return fail(ErrorCode::usage, fmt::format("--rows out of range [1, 2^28]: {}", request.rows));
  if (request.segment_rows == 0) return fail(ErrorCode::usage, "--segment-rows must be at least 1: 0");
  return check(static_cast<Sampling const&>(request));
}

std::string describe(compute::ComputeTuning const& tuning, std::uint32_t bits, bool stable) {
  auto const tile = compute::scatter_tile(tuning, bits, stable);
  return fmt::format("subgroup {}, partition {} × {}, {}", tuning.subgroup_size, tile.group_size, tile.items,
                     stable ? "stable" : "in any order");
}

}  // namespace

Result<PrimitiveOp> parse_primitive_op(std::string_view text) { return parse_word("primitive", kOps, text); }

Result<Outcome> run_primitives_bench(PrimitivesRequest const& request) {
  GARUDA_TRY(check(request));
  auto const subgroup = request.subgroup == 0 ? std::nullopt : std::optional(request.subgroup);
  GARUDA_TRY_ASSIGN(auto bench, ComputeBench::open(request.device, subgroup));
  auto const most_bits = request.stable ? compute::kStableBits : compute::partition_bits(bench->tuning());
  if (request.bits == 0 || request.bits > most_bits)
    return fail(ErrorCode::usage, fmt::format("--bits out of range [1, {}]: {}", most_bits, request.bits));
  Primitives primitives(*bench, request);
  GARUDA_TRY_ASSIGN(auto const primitive, primitives.make());
  Contender contender;
  auto& record = contender.outcome.record;
  record = resident_record(word_of(kOps, request.op), Path::compute, bench->device().name(), bench->device().driver(),
                           request.rows);
  record.bytes = primitive.bytes;
  GARUDA_TRY_ASSIGN(auto const copy, bench->copy(primitive.bytes));
  contender.verify = [&](Outcome&) -> Result<void> {
    GARUDA_TRY(bench->time(primitive.record_whole ? primitive.record_whole : primitive.record));
    return primitive.check();
  };
  contender.before.push_back({copy, {}});
  contender.timed.run = [&] { return bench->time(primitive.record); };
  contender.after.push_back(
      {[&] { return bench->time(primitive.record_by_phase ? primitive.record_by_phase : primitive.record); }, {}});
  contender.warms_up = !bench->is_software();
  GARUDA_TRY(measure({&contender, 1}, request));

  auto outcome = std::move(contender.outcome);
  outcome.record.phases = contender.after.front().median().phases;
  auto const& copies = contender.before.front();
  auto beside = outcome.record;
  beside.op = "copy";
  beside.samples_ns = copies.times();
  beside.time = summarise(beside.samples_ns);
  beside.host_time.reset();
  beside.phases = copies.median().phases;
  outcome.bandwidth = {"copying as many bytes,", bytes_per_second(beside)};
  outcome.beside.push_back(std::move(beside));
  outcome.notes = {
      fmt::format("{}; time: {}", describe(bench->tuning(), request.bits, request.stable), bench->device().clock())};
  return outcome;
}

}  // namespace garuda::bench
