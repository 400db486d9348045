#include "io/parquet/column_sample.hpp"

#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/util/byte_size.h>
#include <parquet/properties.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>

namespace garuda::io {
namespace {

/// Every `step`th value of `column`, roughly.
arrow::Result<std::shared_ptr<arrow::ChunkedArray>> sample_of(arrow::ChunkedArray const& column, std::int64_t step) {
  auto context = single_threaded();
  arrow::ArrayVector chunks;
  for (auto const& chunk : column.chunks()) {
    arrow::Int64Builder rows(memory_pool());
    for (std::int64_t i = 0; i * step + i % step < chunk->length(); ++i)
      ARROW_RETURN_NOT_OK(rows.Append(i * step + i % step));
    ARROW_ASSIGN_OR_RAISE(auto const positions, rows.Finish());
    ARROW_ASSIGN_OR_RAISE(
        auto values, arrow::compute::Take(*chunk, *positions, arrow::compute::TakeOptions::NoBoundsCheck(), &context));
    chunks.push_back(std::move(values));
  }
  return arrow::ChunkedArray::Make(std::move(chunks), column.type());
}

/// Decimals of up to 18 digits as the integers that they are: Arrow has no functions of them.
arrow::Result<std::shared_ptr<arrow::ChunkedArray>> as_integers(arrow::ChunkedArray const& column) {
  auto const id = column.type()->id();
  if (id != arrow::Type::DECIMAL32 && id != arrow::Type::DECIMAL64)
    return std::make_shared<arrow::ChunkedArray>(column.chunks(), column.type());
  return column.View(id == arrow::Type::DECIMAL32 ? arrow::int32() : arrow::int64());
}

/// Values that DELTA_BINARY_PACKED gives a common width.
constexpr std::int64_t kPackedRun = 32;

/// Bits that the differences of neighbours take, among the first kPackedRun + 1 values from `first` on that are not
/// null. `value_of(i)` is a value as 64 bits.
template <class ValueOf>
int bits_of_run(arrow::Array const& chunk, std::int64_t first, ValueOf const& value_of) {
  std::optional<std::uint64_t> before;
  auto least = std::numeric_limits<std::int64_t>::max();
  auto most = std::numeric_limits<std::int64_t>::min();
  std::int64_t differences = 0;
  for (auto i = first; i < chunk.length() && differences < kPackedRun; ++i) {
    if (chunk.IsNull(i)) continue;
    std::uint64_t const value = value_of(i);
    if (before) {
      auto const difference = static_cast<std::int64_t>(value - *before);
      least = std::min(least, difference);
      most = std::max(most, difference);
      ++differences;
    }
    before = value;
  }
  if (differences == 0) return 0;
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least)));
}

template <class Value>
int bits_of_run(arrow::Array const& chunk, std::int64_t first) {
  auto const* const values = chunk.data()->GetValues<Value>(1);
  return bits_of_run(chunk, first,
                     [&](std::int64_t i) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i])); });
}

/// Bits that Parquet stores a value of `type` in without packing it; 0 where it is no integer there.
int stored_bits(arrow::DataType const& type) {
  switch (type.id()) {
    case arrow::Type::INT8:
    case arrow::Type::UINT8:
    case arrow::Type::INT16:
    case arrow::Type::UINT16:
    case arrow::Type::INT32:
    case arrow::Type::UINT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32:
      return 32;
    case arrow::Type::INT64:
    case arrow::Type::UINT64:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
      return 64;
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128: {
      auto const digits = static_cast<arrow::DecimalType const&>(type).precision();
      return digits <= arrow::Decimal32Type::kMaxPrecision   ? 32
             : digits <= arrow::Decimal64Type::kMaxPrecision ? 64
                                                             : 0;
    }
    default:
      return 0;
  }
}

int bits_of_run(arrow::Array const& chunk, std::int64_t first, int bytes) {
  switch (bytes) {
    case 1:
      return bits_of_run<std::int8_t>(chunk, first);
    case 2:
      return bits_of_run<std::int16_t>(chunk, first);
    case 4:
      return bits_of_run<std::int32_t>(chunk, first);
    case 8:
      return bits_of_run<std::int64_t>(chunk, first);
    default: {
      constexpr std::int64_t kWords = 2;
      auto const* const words = chunk.data()->GetValues<std::uint64_t>(1, 0) + kWords * chunk.offset();
      return bits_of_run(chunk, first, [&](std::int64_t i) { return words[kWords * i]; });
    }
  }
}

/// Whether one value fills a dictionary, about.
bool has_long_values(arrow::ChunkedArray const& column) {
  if (!arrow::is_base_binary_like(column.type()->id())) return false;
  std::int64_t bytes = 0;
  for (auto const& chunk : column.chunks()) bytes += arrow::util::ReferencedBufferSize(*chunk).ValueOr(0);
  return bytes > column.length() * parquet::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
}

}  // namespace

bool repeats_values(arrow::ChunkedArray const& column) {
  constexpr std::int64_t kSampleRows = 1 << 12;
  constexpr std::int64_t kLeastRepeats = 8;
  if (has_long_values(column)) return false;
  auto const step = column.length() / kSampleRows;
  if (step < 2 || column.type()->id() == arrow::Type::DICTIONARY || arrow::is_nested(*column.type())) return true;
  auto context = single_threaded();
  auto const integers = as_integers(column);
  if (!integers.ok()) return true;
  auto const sample = sample_of(**integers, step);
  if (!sample.ok()) return true;
  auto const values = arrow::compute::Unique(*sample, &context);
  if (!values.ok()) return true;  // a type that has no such function
  auto const repeated = (*sample)->length() - (*values)->length();
  if (repeated == 0) return false;
  auto const different = kSampleRows * kSampleRows / 2 / repeated + 1;
  auto const value_bytes = arrow::util::ReferencedBufferSize(**values).ValueOr(0) / (*values)->length();
  return column.length() / different >= kLeastRepeats &&
         different * value_bytes <= parquet::DEFAULT_DICTIONARY_PAGE_SIZE_LIMIT;
}

bool packs_well(arrow::ChunkedArray const& column) {
  constexpr std::int64_t kRuns = 64;
  auto const stored = stored_bits(*column.type());
  if (stored == 0) return false;
  auto const bytes = static_cast<arrow::FixedWidthType const&>(*column.type()).bit_width() / 8;
  auto const step = std::max(column.length() / kRuns, kPackedRun);
  std::int64_t runs = 0;
  std::int64_t bits = 0;
  for (auto const& chunk : column.chunks()) {
    for (std::int64_t first = 0; first < chunk->length(); first += step) {
      bits += bits_of_run(*chunk, first, bytes);
      ++runs;
    }
  }
  return bits <= runs * stored / 2;
}

}  // namespace garuda::io
