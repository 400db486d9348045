#include "operators/resolve/row_memory.hpp"

#include <algorithm>
#include <vector>

#include "core/type_rows.hpp"
#include "operators/resolve/group_by_columns.hpp"

namespace garuda::resolve {
namespace {

/// Numbers of rows, and what a group has whatever it is made of.
constexpr std::uint64_t kRowBytes = 32;
/// A key's words, of the row and of the group; numbered ones take more (numbering_bytes).
constexpr std::uint64_t kKeyBytes = 24;
/// States of one column: values, their validity, counts.
constexpr std::uint64_t kStateBytes = 40;
/// Three windows of a float's sum.
constexpr std::uint64_t kFloatSumBytes = 120;
/// Strings or binary: places in the column's order, and those of the least or greatest.
constexpr std::uint64_t kOrderBytes = 64;
/// A rank: the value's word above the row's number, while they are sorted.
constexpr std::uint64_t kRankBytes = 96;
/// A value in a group's list.
constexpr std::uint64_t kListBytes = 64;
/// The parts of a sum of products.
constexpr std::uint64_t kProductBytes = 128;

std::uint64_t state_bytes(ResolvedAggregate const& aggregate) {
  auto const source = value_source(aggregate.input);
  bool const is_bytes = source.kind == contract::ValueKind::bytes;
  switch (aggregate.row->making) {
    case Making::column: {
      bool const is_sum = (aggregate.row->states & contract::kSumState) != 0;
      if (is_sum && contract::is_float(source.kind)) return kStateBytes + kFloatSumBytes;
      return kStateBytes + (is_bytes ? kOrderBytes : 0);
    }
    case Making::list:
      return kListBytes + (is_bytes ? kOrderBytes : 0);
    case Making::row:
      return kStateBytes;
    case Making::ranked:
      return kRankBytes;
    case Making::moments:
      break;
  }
  auto const sums = aggregate.row->function == AggregateFunction::corr ? 5U : aggregate.second ? 3U : 2U;
  return sums * kProductBytes;
}

}  // namespace

std::uint64_t numbering_bytes(std::span<DataType const> key_types) {
  constexpr std::uint64_t kNumberingBytes = 64;
  std::uint64_t words = 0;
  bool is_numbered = false;
  for (auto const& type : key_types) {
    bool const is_integer = byte_width(type) <= 16 && !is_variable_width(type) && type.id != TypeId::fixed_size_binary;
    is_numbered = is_numbered || !is_integer;
    words += is_integer ? static_cast<std::uint64_t>(std::max(byte_width(type), 1)) : 4;
  }
  return is_numbered || words > 8 ? kNumberingBytes + words : 0;
}

Result<std::uint64_t> group_row_bytes(TableView table, GroupBySpec const& spec) {
  GARUDA_TRY_ASSIGN(auto const resolved, resolve_group_by(table, spec));
  std::vector<DataType> key_types;
  for (auto const& key : spec.keys) {
    GARUDA_TRY_ASSIGN(auto const position, find_column(table.schema(), key));
    key_types.push_back(value_type(table.schema()[position].type));
  }
  auto bytes = kRowBytes + spec.keys.size() * kKeyBytes + numbering_bytes(key_types);
  for (auto const& aggregate : resolved.aggregates) bytes += state_bytes(aggregate);
  return bytes;
}

}  // namespace garuda::resolve
