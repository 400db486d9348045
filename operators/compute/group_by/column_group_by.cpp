#include "operators/compute/group_by/column_group_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

#include "keys/samples/key_counts.hpp"
#include "operators/compute/primitives/device_primitives.hpp"

namespace garuda::compute {
namespace {

constexpr char const* kSamplePhase = "sample";
constexpr char const* kOrderPhase = "order";
// Keys looked at where nobody says how many groups there are: short runs, evenly spread.
constexpr std::uint64_t kSampledRuns = 64;
constexpr std::uint64_t kRunKeys = 256;

bool is_sum(DeviceAggregate const& aggregate) {
  return aggregate.function == AggregateFunction::sum || aggregate.function == AggregateFunction::mean;
}

}  // namespace

Result<ColumnGroupBy> ColumnGroupBy::create(ComputeContext& context, ColumnGroupBySpec spec) {
  GARUDA_EXPECTS(spec.rows > 0 && spec.rows <= std::uint64_t{1} << 30);
  ColumnGroupBy group_by;
  group_by.spec_ = std::move(spec);
  auto const& own = group_by.spec_;
  if (!DeviceKeys::may_be_plain(own.keys) && DeviceKeys::may_be_packed(own.keys)) {
    GARUDA_TRY_ASSIGN(group_by.key_scan_, ColumnScan::create(context, own.keys, own.rows));
  }
  std::vector<DeviceValues> scanned;
  for (std::size_t c = 0; c < own.values.size(); ++c) {
    auto const reads = [&](DeviceAggregate const& aggregate) { return aggregate.column == c && is_sum(aggregate); };
    if (!is_float(own.values[c].kind) || std::ranges::none_of(own.aggregates, reads)) continue;
    group_by.scanned_.push_back(c);
    scanned.push_back(own.values[c]);
  }
  if (!scanned.empty()) {
    GARUDA_TRY_ASSIGN(group_by.value_scan_, ColumnScan::create(context, std::move(scanned), own.rows));
  }
  GARUDA_TRY(group_by.scan(context));
  GARUDA_TRY(group_by.keys_.run(context));
  GARUDA_TRY(group_by.take_batches(context));
  return group_by;
}

/// Ranges decide how keys are packed and over which bits floats are summed.
Result<void> ColumnGroupBy::scan(ComputeContext& context) {
  std::optional<std::vector<ValueRange>> key_ranges;
  if (key_scan_) {
    GARUDA_TRY_ASSIGN(key_ranges, key_scan_->run(context));
  }
  GARUDA_TRY_ASSIGN(keys_, DeviceKeys::create(context, spec_.keys, spec_.rows, key_ranges));
  std::vector<ValueRange> ranges(spec_.values.size());
  if (value_scan_) {
    GARUDA_TRY_ASSIGN(auto const found, value_scan_->run(context));
    for (std::size_t i = 0; i < found.size(); ++i) ranges[scanned_[i]] = found[i];
  }
  // Numbers of keys are in the order of their first rows.
  bool const first_rows = spec_.ordered && !spec_.keys.empty() && keys_.form() != DeviceKeyForm::numbered;
  plan_ = plan_aggregates(spec_.aggregates, spec_.values, ranges, spec_.rows, first_rows);
  GARUDA_TRY_ASSIGN(finish_, AggregateFinish::create(context, plan_));
  return {};
}

Result<std::uint64_t> ColumnGroupBy::estimate_groups(ComputeContext& context) {
  if (keys_.form() == DeviceKeyForm::none) return 1;
  if (keys_.form() == DeviceKeyForm::numbered) return keys_.num_groups();
  auto const bits = keys_.key_bits();
  auto const most = bits >= 31 ? spec_.rows : std::min(spec_.rows, std::uint64_t{1} << bits);
  if (spec_.expected_groups != 0) return std::min(spec_.expected_groups, most);
  // A sample would be all of them.
  if (spec_.rows <= kRunKeys * kSampledRuns) return most;
  auto const run = std::min(kRunKeys, spec_.rows);
  auto const runs = std::min(kSampledRuns, spec_.rows / run);
  auto const key = keys_.words();
  std::vector<std::uint32_t> rows;
  for (std::uint64_t i = 0; i < runs; ++i)
    for (std::uint64_t k = 0; k < run; ++k) rows.push_back(static_cast<std::uint32_t>(spec_.rows / runs * i + k));
  auto const bytes = rows.size() * sizeof(std::uint32_t);
  GARUDA_TRY_ASSIGN(auto const numbers, context.upload_buffer(bytes, "rows of a sample"));
  GARUDA_TRY_ASSIGN(auto const sample, context.device_buffer(bytes * key.words, "sample of keys"));
  GARUDA_TRY(context.upload(numbers, 0, std::as_bytes(std::span(rows))));
  GARUDA_TRY(
      record_gather(context, kSamplePhase, key.address, numbers.address(), sample.address(), rows.size(), key.words));
  GARUDA_TRY(context.order_all(kSamplePhase));
  std::vector<std::uint32_t> words(rows.size() * key.words);
  GARUDA_TRY(context.download(sample, std::as_writable_bytes(std::span(words))));
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < words.size(); i += key.words)
    keys.push_back(words[i] | (key.words == 2 ? std::uint64_t{words[i + 1]} << 32 : 0));
  auto const drawn_from = keys::KeyCounts<std::uint64_t>(keys).frequencies().drawn_from();
  return static_cast<std::uint64_t>(std::min(drawn_from, static_cast<double>(most)));
}

Result<void> ColumnGroupBy::take_batches(ComputeContext& context) {
  GARUDA_TRY_ASSIGN(auto const expected, estimate_groups(context));
  std::size_t first = 0;
  do {
    auto const count = std::min(plan_.states.size() - first, kMostResidentAggregates);
    std::vector<ResidentAggregate> states(plan_.states.begin() + static_cast<std::ptrdiff_t>(first),
                                          plan_.states.begin() + static_cast<std::ptrdiff_t>(first + count));
    DeviceRows rows;
    rows.rows = spec_.rows;
    rows.keys = keys_.words();
    // The columns of the payload that this batch reads.
    std::vector<std::size_t> taken;
    auto const place = [&](std::size_t column) {
      auto const found = std::ranges::find(taken, column);
      if (found != taken.end()) return static_cast<std::size_t>(found - taken.begin());
      taken.push_back(column);
      rows.payload.push_back(plan_.payload.at(column));
      return taken.size() - 1;
    };
    for (auto& state : states) {
      bool const reads = state.function != ResidentFunction::count && state.function != ResidentFunction::first_row;
      if (reads) state.column = place(state.column);
      if (state.nulls) state.nulls = place(*state.nulls);
    }
    auto const grouping =
        choose_resident_grouping(rows.rows, expected, resident_state_words(states), spec_.method, context.tuning());
    GARUDA_TRY_ASSIGN(auto batch, ResidentGroupBy::create(context, std::move(rows), std::move(states), grouping));
    batches_.push_back(std::move(batch));
    first += count;
  } while (first < plan_.states.size());
  return {};
}

bool ColumnGroupBy::needs_key_order() const noexcept {
  if (keys_.form() == DeviceKeyForm::none) return false;
  return batches_.size() > 1 || (spec_.ordered && keys_.form() == DeviceKeyForm::numbered);
}

/// Sorts groups by a column of theirs; the words of the result are theirs where `first_state` is that of a batch.
Result<ColumnGroupBy::Aligned> ColumnGroupBy::reorder(ComputeContext& context, std::size_t order, DeviceColumn key,
                                                      std::uint32_t bits, std::size_t first_state,
                                                      Aligned const& groups) {
  if (orders_.size() <= order) orders_.resize(order + 1);
  auto& sorted = orders_[order];
  bool const is_new = !sorted.side || sorted.groups != num_groups_;
  if (is_new) {
    DeviceRows rows;
    rows.rows = num_groups_;
    rows.keys = key;
    rows.number_rows = true;
    sorted = {};
    sorted.groups = num_groups_;
    GARUDA_TRY_ASSIGN(sorted.side, SortedSide::create(context, std::move(rows), std::min(bits, kWordBits * key.words)));
  }
  GARUDA_TRY(sorted.side->record(context));
  auto const numbers = sorted.side->numbers().address();
  auto const gather = [&](std::size_t position, vk::Buffer const& source, std::uint32_t words) -> Result<void> {
    if (is_new) {
      GARUDA_TRY_ASSIGN(auto buffer, context.device_buffer(num_groups_ * words * 4, "column of sorted groups"));
      sorted.columns.push_back(std::move(buffer));
    }
    return record_gather(context, kOrderPhase, source.address(), numbers, sorted.columns[position].address(),
                         num_groups_, words);
  };
  auto const key_words = std::max(keys_.words().words, 1U);
  GARUDA_TRY(gather(0, *groups.words, key_words));
  for (std::size_t s = 0; s < groups.states.size(); ++s)
    GARUDA_TRY(gather(1 + s, *groups.states[s], resident_result_words(plan_.states[first_state + s].function)));
  Aligned aligned;
  aligned.words = sorted.columns.data();
  for (std::size_t s = 0; s < groups.states.size(); ++s) aligned.states.push_back(&sorted.columns[1 + s]);
  return aligned;
}

Result<ColumnGroupBy::Aligned> ColumnGroupBy::align(ComputeContext& context) {
  orders_.reserve(batches_.size() + 1);  // buffers are referred to
  Aligned all;
  std::size_t first = 0;
  for (std::size_t b = 0; b < batches_.size(); ++b) {
    GARUDA_TRY_ASSIGN(auto const found, batches_[b].finish(context));
    GARUDA_EXPECTS(b == 0 || found.groups == num_groups_);
    num_groups_ = found.groups;
    Aligned own{found.aggregates, found.keys};
    if (needs_key_order()) {
      auto const words = keys_.words().words;
      GARUDA_TRY_ASSIGN(own, reorder(context, b, {found.keys->address(), words}, keys_.key_bits(), first, own));
    }
    if (b == 0) all.words = own.words;
    all.states.insert(all.states.end(), own.states.begin(), own.states.end());
    first += own.states.size();
  }
  if (!plan_.first_row) return all;
  auto const bits = static_cast<std::uint32_t>(std::bit_width(spec_.rows - 1));
  return reorder(context, batches_.size(), {all.states[*plan_.first_row]->address(), 1}, bits, 0, all);
}

Result<void> ColumnGroupBy::run(ComputeContext& context) {
  if (key_scan_) GARUDA_TRY(key_scan_->run(context));
  if (value_scan_) GARUDA_TRY(value_scan_->run(context));
  GARUDA_TRY(keys_.run(context));
  for (auto& batch : batches_) GARUDA_TRY(batch.record(context));
  GARUDA_TRY_ASSIGN(auto const groups, align(context));
  GARUDA_TRY(finish_->record(context, groups.states, num_groups_));
  // Keys that are taken as they are and stay where they are need no copy.
  plain_keys_ = keys_.form() == DeviceKeyForm::plain ? groups.words : nullptr;
  if (plain_keys_ == nullptr && keys_.form() != DeviceKeyForm::none)
    GARUDA_TRY(keys_.record_columns(context, *groups.words, num_groups_));
  GARUDA_TRY_ASSIGN(overflow_, finish_->overflow(context));
  return {};
}

std::vector<GroupedColumn> ColumnGroupBy::keys() const {
  std::vector<GroupedColumn> columns;
  if (plain_keys_ != nullptr) return {{plain_keys_, keys_.words().words, nullptr}};
  if (keys_.form() == DeviceKeyForm::none) return columns;
  for (auto const& key : keys_.columns())
    columns.push_back({&key.values, key.words, key.nulls ? &*key.nulls : nullptr});
  return columns;
}

std::vector<GroupedColumn> ColumnGroupBy::aggregates() const {
  std::vector<GroupedColumn> columns;
  for (auto const& column : finish_->columns())
    columns.push_back({column.taken != nullptr ? column.taken : &column.values, column.words,
                       column.nulls ? &*column.nulls : nullptr});
  return columns;
}

std::vector<vk::ComputePipelineSpec> column_group_by_pipelines(ComputeTuning const& tuning) {
  std::vector<vk::ComputePipelineSpec> specs;
  for (auto const& part :
       {ColumnScan::pipelines(tuning), DeviceKeys::pipelines(tuning), AggregateFinish::pipelines(tuning)})
    specs.insert(specs.end(), part.begin(), part.end());
  return specs;
}

}  // namespace garuda::compute
