#include <algorithm>
#include <utility>

#include "expr/sides.hpp"
#include "operators/join/batch_builder.hpp"
#include "operators/materialize/column_bytes.hpp"

namespace garuda::join {
namespace {

/// Position i of the partitioned keys is row i of the table.
bool is_in_table_order(PartitionedTable const& side) {
  return side.keys->row_ids == nullptr && side.keys->num_rows() == static_cast<std::uint64_t>(side.table.num_rows());
}

bool is_one_part(PartitionedTable const& side) {
  std::size_t parts = 0;
  for (std::size_t b = 0; b < side.table.num_batches(); ++b) parts += side.table.batch(b).num_rows > 0 ? 1 : 0;
  return parts <= 1;
}

bool is_carried(PartitionedTable const& side, std::size_t column) {
  return std::ranges::find(side.carried, column, &materialize::CarriedColumn::column) != side.carried.end();
}

/// The first row of each batch, then the number of all rows.
std::vector<std::uint64_t> first_rows_of(TableView const& table) {
  std::vector<std::uint64_t> firsts{0};
  for (std::size_t b = 0; b < table.num_batches(); ++b)
    firsts.push_back(firsts.back() + static_cast<std::uint64_t>(table.batch(b).num_rows));
  return firsts;
}

}  // namespace

bool needs_row_ids(PartitionedTable const& side, resolve::ResolvedJoin const& columns, Side which) {
  return std::ranges::any_of(columns.output, [&](resolve::OutputColumn const& output) {
    return output.side == which && output.column != side.key_column && !is_carried(side, output.column);
  });
}

Result<std::unique_ptr<BatchSources>> BatchSources::create(PartitionedTable left, PartitionedTable right,
                                                           resolve::ResolvedJoin const& columns) {
  std::unique_ptr<BatchSources> sources(new BatchSources);
  sources->columns_.resize(columns.output.size());
  GARUDA_TRY(sources->add_side(std::move(left), columns, Side::left));
  GARUDA_TRY(sources->add_side(std::move(right), columns, Side::right));
  return sources;
}

Result<void> BatchSources::add_side(PartitionedTable side, resolve::ResolvedJoin const& columns, Side which) {
  auto& source = which == Side::left ? left_ : right_;
  source.side = std::move(side);
  auto const& table = source.side.table;
  source.may_be_null = columns.parts.rows(other_side(which)) == contract::SideRows::unmatched;
  for (std::size_t i = 0; i < columns.output.size(); ++i)
    if (auto const& output = columns.output[i]; output.side == which) {
      columns_[i] = column_of(source, which, output.column);
      columns_[i].column = output.column;
      auto const key = columns.shared_key(output);
      columns_[i].has_both_keys = key.has_value();
      if (key && columns_[i].kind == Kind::key)
        columns_[i].width = static_cast<std::uint32_t>(byte_width(columns.keys[*key].type));
      // The left row that has the key's value is not there.
      if (key && columns_[i].kind != Kind::key) source.may_be_null = false;
    }
  if (can_share(source, which, columns)) source.first_rows = first_rows_of(table);
  if (source.gathered_columns.empty()) return {};
  GARUDA_TRY_ASSIGN(source.gatherer, Gatherer::create(table, source.gathered_columns, columns.strings));
  return {};
}

/// Where positions are rows, and all of the side's columns come out as they lie in the table, which has an owner.
bool BatchSources::can_share(Source const& source, Side which, resolve::ResolvedJoin const& columns) const {
  auto const& table = source.side.table;
  if (source.side.keys->num_partitions() != 1 || !is_in_table_order(source.side)) return false;
  for (std::size_t b = 0; b < table.num_batches(); ++b)
    if (table.batch(b).num_rows > 0 && table.batch(b).owner == nullptr) return false;
  return std::ranges::all_of(columns.output, [&](resolve::OutputColumn const& output) {
    if (output.side != which) return true;
    auto const& type = table.schema()[output.column].type;
    auto const key = columns.shared_key(output);
    return type.id != TypeId::dictionary && type.id != TypeId::nested &&
           (columns.strings != StringForm::view || !is_variable_width(type)) &&
           (!key || columns.shared_key_type(*key) == type);
  });
}

BatchSources::Column BatchSources::column_of(Source& source, Side which, std::size_t column) {
  auto const& side = source.side;
  Column result;
  result.side = which;
  if (column == side.key_column) {
    result.kind = Kind::key;
    result.width = static_cast<std::uint32_t>(byte_width(side.table.schema()[column].type));
    return result;
  }
  auto const carried = std::ranges::find(side.carried, column, &materialize::CarriedColumn::column);
  if (carried != side.carried.end()) {
    auto const& type = side.table.schema()[column].type;
    result.width = carried->bytes;
    if (is_variable_width(type)) {
      result.kind = Kind::cells;
      result.mean_bytes = materialize::mean_value_bytes(side.table, column);
      result.has_large_offsets = has_large_offsets(type);
      has_cells_ = true;
    }
    result.values = side.keys->payload[static_cast<std::size_t>(carried - side.carried.begin())].data();
    return result;
  }
  bool const one_part = is_one_part(side);
  if (!one_part || !materialize::is_plain(side.table, column)) {
    result.kind = Kind::gathered;
    result.gathered = source.gathered_columns.size();
    source.gathered_columns.push_back(column);
    source.wants_rows = true;
    return result;
  }
  auto const payload = materialize::payload_column(side.table, column);
  result.width = payload.width;
  if (payload.parts.empty()) return result;  // a table without rows
  result.values = payload.parts.front().values;
  if (is_in_table_order(side)) return result;
  result.kind = Kind::by_row;
  source.wants_rows = true;
  return result;
}

}  // namespace garuda::join
