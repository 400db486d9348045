#include "spill/group_by/large_group.hpp"

#include <arrow/array/builder_primitive.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/numbers/ordered_value.hpp"
#include "core/numbers/wide_integer.hpp"
#include "core/type_rows.hpp"
#include "io/file_dictionaries.hpp"
#include "operators/resolve/group_by_columns.hpp"
#include "spill/group_by/partial_groups.hpp"
#include "spill/memory_share.hpp"
#include "spill/row_partitioner.hpp"
#include "spill/sorted_runs.hpp"

namespace garuda::spill {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;
using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
using F = AggregateFunction;

constexpr auto kValuesSentence = "cannot aggregate the values of a large group";

BatchPtr column_of(std::string const& name, ArrayPtr const& values) {
  return arrow::RecordBatch::Make(arrow::schema({arrow::field(name, values->type())}), values->length(), {values});
}

/// The words of a type of numbers: as unsigned integers they compare as its values do, zeros and NaNs each as one.
class NumberWords {
 public:
  /// nullopt: a type without such words.
  static std::optional<NumberWords> of(DataType const& type) {
    auto const kind = resolve::value_source(type).kind;
    auto const width = static_cast<std::size_t>(byte_width(type));
    if (kind == contract::ValueKind::none || kind == contract::ValueKind::bytes || width == 0) return std::nullopt;
    return NumberWords(kind, width);
  }

  std::size_t width() const noexcept { return width_; }
  bool is_wide() const noexcept { return width_ > sizeof(std::uint64_t); }

  UInt128 word_at(std::uint8_t const* value) const noexcept {
    if (is_float_ && width_ == sizeof(double)) return ordered_from_bits(canonical_bits(read<double>(value)));
    if (is_float_ && width_ == sizeof(float)) return ordered_from_bits(canonical_bits(read<float>(value)));
    if (is_float_) return ordered_from_bits(canonical_half(read<std::uint16_t>(value)));
    UInt128 bits = 0;
    std::memcpy(&bits, value, width_);  // little endian
    return bits ^ flipped_;
  }

  void write(UInt128 word, std::uint8_t* value) const noexcept {
    auto bits = word ^ flipped_;
    if (is_float_ && width_ == sizeof(double)) bits = bits_from_ordered(static_cast<std::uint64_t>(word));
    // A float of 16 bits is ordered as the one of 32 that begins with its bits.
    if (is_float_ && width_ < sizeof(double)) {
      auto const unused = 32 - 8 * width_;
      bits = bits_from_ordered(static_cast<std::uint32_t>(word) << unused) >> unused;
    }
    std::memcpy(value, &bits, width_);
  }

 private:
  NumberWords(contract::ValueKind kind, std::size_t width)
      : width_(width),
        is_float_(contract::is_float(kind)),
        flipped_(contract::is_signed_integer(kind) ? UInt128{1} << (8 * width - 1) : UInt128{0}) {}

  template <class Value>
  static Value read(std::uint8_t const* value) noexcept {
    Value read;
    std::memcpy(&read, value, sizeof(read));
    return read;
  }

  std::size_t width_;
  bool is_float_;
  UInt128 flipped_;  ///< the sign bit of signed integers
};

/// The values of a block that are not null, as sorted words.
std::vector<UInt128> sorted_words(io::ArrowBatches const& block, NumberWords const& form) {
  std::vector<UInt128> words;
  for (auto const& batch : block) {
    auto const& values = *batch->column(0);
    words.reserve(words.size() + static_cast<std::size_t>(values.length() - values.null_count()));
    auto const* const bytes = values.data()->buffers[1]->data();
    for (std::int64_t i = 0; i < values.length(); ++i)
      if (values.IsValid(i))
        words.push_back(form.word_at(bytes + static_cast<std::size_t>(values.offset() + i) * form.width()));
  }
  std::ranges::sort(words);
  return words;
}

/// Words as columns of int64: their low halves last, above them the high ones of wide words.
struct WordColumns {
  std::shared_ptr<arrow::Schema> schema;
  OrderColumns order;

  explicit WordColumns(bool is_wide) {
    arrow::FieldVector fields{arrow::field("word", arrow::int64(), false)};
    if (is_wide) {
      fields.push_back(arrow::field("low word", arrow::int64(), false));
      order.second = 1;
    }
    schema = arrow::schema(std::move(fields));
  }

  Result<BatchPtr> batch_of(std::vector<UInt128> const& words) const {
    arrow::ArrayVector columns;
    for (auto c = schema->num_fields() - 1; c >= 0; --c) {
      arrow::Int64Builder builder(io::memory_pool());
      GARUDA_ARROW_TRY(builder.Reserve(static_cast<std::int64_t>(words.size())), ErrorCode::out_of_memory,
                       kValuesSentence);
      for (auto const word : words) builder.UnsafeAppend(static_cast<std::int64_t>(word >> (64 * c)));
      GARUDA_ARROW_TRY_ASSIGN(auto column, builder.Finish(), ErrorCode::out_of_memory, kValuesSentence);
      columns.push_back(std::move(column));
    }
    return arrow::RecordBatch::Make(schema, static_cast<std::int64_t>(words.size()), std::move(columns));
  }

  UInt128 word_of(arrow::RecordBatch const& batch, std::int64_t row) const {
    auto const [first, second] = order.order_of(batch, row);
    return order.second ? UInt128{first} << 64 | second : UInt128{first};
  }
};

/// A column of `values`, of type `type`.
Result<BatchPtr> numbers_of(std::string const& name, std::shared_ptr<arrow::DataType> const& type,
                            std::vector<UInt128> const& words, NumberWords const& form) {
  auto const count = static_cast<std::int64_t>(words.size());
  GARUDA_ARROW_TRY_ASSIGN(std::shared_ptr<arrow::Buffer> values,
                          arrow::AllocateBuffer(count * static_cast<std::int64_t>(form.width()), io::memory_pool()),
                          ErrorCode::out_of_memory, kValuesSentence);
  for (std::size_t i = 0; i < words.size(); ++i) form.write(words[i], values->mutable_data() + i * form.width());
  return column_of(name, arrow::MakeArray(arrow::ArrayData::Make(type, count, {nullptr, std::move(values)}, 0)));
}

Result<void> too_large() {
  return fail(ErrorCode::limit_exceeded, "the values of one group do not fit the memory limit");
}

}  // namespace

Result<ArrayPtr> LargeGroup::value_of(Aggregate const& aggregate, NextBlock const& blocks, RowVolume const& volume) {
  run::PhaseTimer const timer(runs_.recorder(), "large group", volume.bytes, volume.rows);
  if (aggregate.function == F::median || aggregate.function == F::quantile) return quantile(aggregate, blocks);
  if (aggregate.function != F::count_distinct) return extremes(aggregate, blocks);
  GARUDA_TRY_ASSIGN(auto const count, count_distinct(*aggregate.column, blocks, volume, 0));
  return std::make_shared<arrow::Int64Array>(1, arrow::Buffer::FromVector(std::vector<std::int64_t>{count}));
}

/// The aggregate of rows that fit the limit.
Result<ArrayPtr> LargeGroup::aggregated(io::ArrowBatches rows, Aggregate const& aggregate) {
  GroupBySpec spec;
  spec.aggregates = {aggregate};
  GARUDA_TRY_ASSIGN(auto const groups, group_rows(engine_, std::move(rows), spec, options_, runs_));
  GARUDA_EXPECTS(groups.size() == 1 && groups.front()->num_rows() == 1);
  return groups.front()->column(0);
}

Result<ArrayPtr> LargeGroup::quantile(Aggregate aggregate, NextBlock const& blocks) {
  GARUDA_TRY_ASSIGN(auto block, blocks());
  GARUDA_EXPECTS(!block.empty());
  auto const schema = block.front()->schema();
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(schema, {}));
  auto const form = NumberWords::of(table.schema().front().type);
  if (!form) return propagate(too_large());
  WordColumns const columns(form->is_wide());
  SortedRuns runs(columns.schema, columns.order, share_.limit_bytes / 2, folder_, options_.control, runs_.recorder());
  std::uint64_t count = 0;
  while (!block.empty()) {
    auto const words = sorted_words(std::exchange(block, {}), *form);
    count += words.size();
    GARUDA_TRY_ASSIGN(auto const batch, columns.batch_of(words));
    GARUDA_TRY(runs.add(batch));
    GARUDA_TRY_ASSIGN(block, blocks());
  }
  GARUDA_TRY(runs.finish());
  auto const share = aggregate.function == F::median ? 0.5 : aggregate.quantile;
  auto const place = count == 0 ? 0.0 : share * static_cast<double>(count - 1);
  auto const at = static_cast<std::uint64_t>(std::floor(place));
  auto const wanted = std::min<std::uint64_t>(count - at, 2);
  std::vector<UInt128> around;
  for (std::uint64_t first = 0; around.size() < wanted;) {
    GARUDA_TRY_ASSIGN(auto const batch, runs.next());
    GARUDA_EXPECTS(batch != nullptr);
    auto const end = first + static_cast<std::uint64_t>(batch->num_rows());
    for (auto i = at + around.size(); around.size() < wanted && i < end; ++i)
      around.push_back(columns.word_of(*batch, static_cast<std::int64_t>(i - first)));
    first = end;
  }
  // Between two values the place is its own fraction.
  aggregate.function = F::quantile;
  aggregate.quantile = place - std::floor(place);
  GARUDA_TRY_ASSIGN(auto rows, numbers_of(*aggregate.column, schema->field(0)->type(), around, *form));
  return aggregated({std::move(rows)}, aggregate);
}

Result<ArrayPtr> LargeGroup::extremes(Aggregate const& aggregate, NextBlock const& blocks) {
  auto const values_of = [&](arrow::Array const& list) -> Result<BatchPtr> {
    GARUDA_ARROW_TRY_ASSIGN(auto const values, static_cast<arrow::ListArray const&>(list).Flatten(io::memory_pool()),
                            ErrorCode::out_of_memory, kValuesSentence);
    return column_of(*aggregate.column, values);
  };
  ArrayPtr list;
  while (true) {
    GARUDA_TRY_ASSIGN(auto block, blocks());
    if (block.empty()) return list;
    GARUDA_TRY_ASSIGN(auto const more, aggregated(std::move(block), aggregate));
    auto const before = std::exchange(list, more);
    if (before == nullptr) continue;
    GARUDA_TRY_ASSIGN(auto values, values_of(*before));
    GARUDA_TRY_ASSIGN(auto others, values_of(*more));
    GARUDA_TRY_ASSIGN(list, aggregated({std::move(values), std::move(others)}, aggregate));
  }
}

Result<io::ArrowBatches> LargeGroup::distinct(io::ArrowBatches rows, std::string const& column) {
  GroupBySpec spec;
  spec.keys = {column};
  return group_rows(engine_, std::move(rows), spec, options_, runs_);
}

Result<io::ArrowBatches> LargeGroup::distinct_of_all(std::string const& column, NextBlock const& blocks) {
  io::ArrowBatches all;
  while (true) {
    GARUDA_TRY_ASSIGN(auto const block, blocks());
    if (block.empty()) return distinct(std::move(all), column);
    all.insert(all.end(), block.begin(), block.end());
  }
}

/// Rows that are equal are in one part.
Result<LargeGroup::DistinctParts> LargeGroup::split_distinct(std::string const& column, NextBlock const& blocks,
                                                             RowVolume const& volume, std::uint32_t level) {
  GARUDA_TRY_ASSIGN(auto block, blocks());
  if (block.empty()) return DistinctParts{};
  GARUDA_TRY_ASSIGN(auto found, distinct(std::move(block), column));
  auto const schema = found.front()->schema();
  GARUDA_TRY_ASSIGN(auto const table, io::to_table(schema, {}));
  DistinctParts parts;
  GARUDA_TRY_ASSIGN(parts.dictionaries, DictionaryColumns::create(schema, folder_.sentence()));
  auto& dictionaries = *parts.dictionaries;
  std::vector const keys{0};
  std::vector const types{value_type(table.schema().front().type)};
  dictionaries.hash_values(0, types.front());
  auto const bits = share_.bits_for(share_.weight(volume), kMostBits);
  std::size_t at = 0;
  auto const next = [&]() -> Result<BatchPtr> {
    while (at == found.size()) {
      GARUDA_TRY_ASSIGN(auto rows, blocks());
      if (rows.empty()) return nullptr;
      GARUDA_TRY_ASSIGN(found, distinct(std::move(rows), column));
      at = 0;
    }
    return dictionaries.detach(std::move(found[at++]));
  };
  RowSplitter const splitter{share_, folder_, options_, runs_.recorder()};
  GARUDA_TRY_ASSIGN(parts.files, splitter.split(next, {dictionaries, keys, types, false, bits, level}, volume));
  GARUDA_TRY(dictionaries.finish());
  if (dictionaries.bytes() > share_.limit_bytes / 2) return propagate(too_large());
  return parts;
}

/// A null is among the values of its part, but not counted.
Result<std::int64_t> LargeGroup::count_distinct(std::string const& column, NextBlock const& blocks,
                                                RowVolume const& volume, std::uint32_t level) {
  if (level == kMostLevels) return propagate(too_large());
  GARUDA_TRY_ASSIGN(auto parts, split_distinct(column, blocks, volume, level));
  std::int64_t count = 0;
  while (!parts.files.empty()) {
    auto const file = std::move(parts.files.back());
    parts.files.pop_back();
    if (file.volume().rows == 0) continue;
    GARUDA_TRY_ASSIGN(auto const read, file.read());
    auto const next = [&]() -> Result<io::ArrowBatches> {
      GARUDA_TRY_ASSIGN(auto batch, read());
      if (batch == nullptr) return io::ArrowBatches{};
      GARUDA_TRY_ASSIGN(batch, parts.dictionaries->attach(std::move(batch)));
      return io::ArrowBatches{std::move(batch)};
    };
    if (!share_.fits(share_.weight(file.volume()))) {
      GARUDA_TRY_ASSIGN(auto const more, count_distinct(column, next, file.volume(), level + 1));
      count += more;
      continue;
    }
    GARUDA_TRY_ASSIGN(auto const values, distinct_of_all(column, next));
    for (auto const& batch : values) count += batch->num_rows() - batch->column(0)->null_count();
  }
  return count;
}

}  // namespace garuda::spill
