#include "operators/query/estimate.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <utility>

#include "keys/codes/key_types.hpp"
#include "keys/join_keys.hpp"
#include "operators/pipeline/rows.hpp"

namespace garuda::query {
namespace {

/// Enough for shares of a few per cent, and small beside any table that it pays to plan for.
constexpr std::uint64_t kSampleRows = 2'048;
/// The share of rows without a sample that is expected behind a predicate.
constexpr double kUnknownShare = 0.3;

/// Row numbers, one from each of as many ranges of equal length, at a place within it that looks random.
pipeline::RowNumbers spread_rows(std::uint64_t rows) {
  pipeline::RowNumbers ids(kSampleRows);
  std::uint64_t state = 0x9E37'79B9'7F4A'7C15;
  for (std::uint64_t i = 0; i < kSampleRows; ++i) {
    state = state * 6'364'136'223'846'793'005 + 1'442'695'040'888'963'407;
    auto const first = rows * i / kSampleRows;
    auto const end = rows * (i + 1) / kSampleRows;
    ids[i] = static_cast<std::int64_t>(first + (state >> 33) % (end - first));
  }
  return ids;
}

/// Runs one operator over the sample of its input; nullptr: an expression has no value for some row, which the query
/// may never ask, so that only its run says whether that is an error.
template <class Extend>
Result<std::shared_ptr<Table const>> run_sample(Table const& sample, std::size_t columns, Control const& control,
                                                Extend const& extend) {
  pipeline::PipelineOptions options;
  options.control = control;
  options.control.on_progress = {};
  pipeline::Pipeline pipeline(sample.view(), options);
  GARUDA_TRY(extend(pipeline));
  auto table = pipeline.run(column_names(columns), std::nullopt);
  if (!table && table.error().code() == ErrorCode::invalid_input) return nullptr;
  if (!table) return propagate(std::move(table));
  return std::make_shared<Table const>(*std::move(table));
}

/// How many pairs of rows have equal words.
double equal_pairs(keys::EncodedKeys const& words) {
  std::vector<std::uint64_t> sorted(words.num_rows);
  for (std::uint64_t i = 0; i < words.num_rows; ++i)
    sorted[i] = words.key_bits == 32 ? words.words32()[i] : words.words64()[i];
  std::ranges::sort(sorted);
  double pairs = 0;
  for (std::size_t first = 0, i = 1; i <= sorted.size(); ++i)
    if (i == sorted.size() || sorted[i] != sorted[first]) {
      auto const equal = static_cast<double>(i - std::exchange(first, i));
      pairs += equal * (equal - 1) / 2;
    }
  return pairs;
}

}  // namespace

Result<Estimate> sample_table(TableView table, std::span<std::size_t const> columns, Control const& control) {
  auto const rows = static_cast<std::uint64_t>(table.num_rows());
  Estimate estimate{static_cast<double>(rows), nullptr, std::vector<double>(columns.size())};
  if (table.resident() != nullptr) return estimate;
  auto picked = pipeline::pick_columns(table, columns, column_names(columns.size()));
  if (rows > kSampleRows) {
    std::array const ids{spread_rows(rows)};
    GARUDA_TRY_ASSIGN(picked, pipeline::gather_rows(picked.view(), ids, control));
  }
  estimate.sample = std::make_shared<Table const>(std::move(picked));
  return estimate;
}

Result<Estimate> estimate_filter(BoundFilter const& filter, Estimate const& input, Control const& control) {
  Estimate estimate{input.rows * kUnknownShare, nullptr, input.distinct};
  if (input.sample == nullptr || input.sample->num_rows() == 0) return estimate;
  GARUDA_TRY_ASSIGN(estimate.sample, run_sample(*input.sample, input.distinct.size(), control,
                                                [&](auto& pipeline) { return pipeline.filter(filter.predicate); }));
  if (estimate.sample == nullptr) return estimate;
  // Where no row of the sample passes, about half a row does.
  auto const passing = std::max(static_cast<double>(estimate.sample->num_rows()), 0.5);
  estimate.rows = input.rows * std::min(passing / static_cast<double>(input.sample->num_rows()), 1.0);
  std::ranges::fill(estimate.distinct, 0);
  return estimate;
}

Result<Estimate> estimate_project(BoundProject const& project, Estimate const& input, Control const& control) {
  Estimate estimate{input.rows, nullptr, {}};
  for (auto const& column : project.columns) {
    auto const* const position = std::get_if<std::size_t>(&column);
    estimate.distinct.push_back(position == nullptr ? 0 : input.distinct[*position]);
  }
  if (input.sample == nullptr) return estimate;
  GARUDA_TRY_ASSIGN(estimate.sample, run_sample(*input.sample, project.columns.size(), control,
                                                [&](auto& pipeline) { return pipeline.project(project.columns); }));
  return estimate;
}

Result<double> distinct_values(Estimate& estimate, std::size_t column, Control const& control) {
  auto& known = estimate.distinct[column];
  if (known > 0) return known;
  known = std::max(estimate.rows, 1.0);
  if (estimate.sample == nullptr || estimate.sample->num_rows() < 2) return known;
  auto const& field = estimate.sample->schema()[column];
  GARUDA_TRY_ASSIGN(auto type, keys::common_key_type(field, field));
  std::vector<keys::ComparedKey> compared{{std::move(type.compared), keys::has_bytes(field.type)}};
  GARUDA_TRY_ASSIGN(auto const keys, keys::BuildKeys::create({estimate.sample->view(), {column}}, std::move(compared),
                                                             keys::NullKeys::left_out, control));
  auto const words = keys->take_words();
  auto const rows = static_cast<double>(words.num_rows);
  // One pair of rows in d is equal where d values are equally frequent.
  if (auto const pairs = equal_pairs(words); pairs > 0) known = std::min(known, rows * (rows - 1) / 2 / pairs);
  return known;
}

}  // namespace garuda::query
