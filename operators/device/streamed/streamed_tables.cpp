#include "operators/device/streamed/streamed_tables.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "operators/contract/sizing.hpp"
#include "operators/materialize/column_words.hpp"

namespace garuda::device {
namespace {

/// The columns of each table that go to the device, those that do not, and the request for the first.
struct DividedColumns {
  std::array<std::vector<std::size_t>, 2> uploaded;  ///< by side, the key first
  std::array<std::vector<std::size_t>, 2> gathered;
  resolve::JoinRequest request;  ///< its columns count in `uploaded`
};

void add_once(std::vector<std::size_t>& columns, std::size_t column) {
  if (std::ranges::find(columns, column) == columns.end()) columns.push_back(column);
}

DividedColumns divide(resolve::JoinRequest const& request) {
  DividedColumns divided{{}, {}, request};
  auto& there = divided.request.columns;
  there.output.clear();
  there.names.clear();
  there.keys.front().left = there.keys.front().right = 0;
  auto const& pair = request.columns.keys.front();
  for (auto const side : kSides) divided.uploaded[side_index(side)] = {pair.of(side)};
  bool const gathers = request.options.tuning.payload == Payload::gather;
  for (std::size_t i = 0; i < request.columns.output.size(); ++i) {
    auto const& [side, column] = request.columns.output[i];
    auto const& type = request.of(side).schema()[column].type;
    if (column != pair.of(side) && (gathers || !device_words(type))) {
      add_once(divided.gathered[side_index(side)], column);
      continue;
    }
    auto& uploaded = divided.uploaded[side_index(side)];
    add_once(uploaded, column);
    auto const position = std::ranges::find(uploaded, column) - uploaded.begin();
    there.output.push_back({side, static_cast<std::size_t>(position)});
    there.names.push_back(request.columns.names[i]);
  }
  return divided;
}

}  // namespace

Result<StreamedTables> StreamedTables::create(resolve::JoinRequest const& request, TableDevice const& device,
                                              std::optional<Upload> upload) {
  auto const key_type = streamed_key_type(request);
  GARUDA_EXPECTS(key_type);
  auto divided = divide(request);
  StreamedTables streamed;
  for (auto const side : kSides) {
    auto const& host = request.of(side);
    GARUDA_TRY_ASSIGN(auto table,
                      lay_out_table(host, divided.uploaded[side_index(side)], device, device_key_words(*key_type)));
    if (upload) GARUDA_TRY(take_columns(table, *upload));
    streamed.tables_.push_back({host, DeviceTable(std::move(table.state)), std::move(table.columns),
                                std::move(divided.gathered[side_index(side)])});
  }
  bool const left_is_smaller = streamed.of(Side::left).rows() <= streamed.of(Side::right).rows();
  streamed.build_ = contract::build_side(request.options.tuning.build, left_is_smaller ? Side::left : Side::right);
  divided.request.left = streamed.of(Side::left).table.view();
  divided.request.right = streamed.of(Side::right).table.view();
  GARUDA_TRY_ASSIGN(auto sides, moved_sides(divided.request, false));
  streamed.sides_ = std::make_unique<MovedSides>(std::move(sides));
  DeviceTableState placed;
  place_columns(*streamed.sides_, divided.request, placed);
  GARUDA_EXPECTS(streamed.sides_->added.empty());
  streamed.schema_ = std::move(placed.schema);
  streamed.columns_ = std::move(placed.columns);
  auto stored = streamed.sides_->first_added();
  for (auto const& side : streamed.tables_) {
    if (!side.numbers_rows()) continue;
    streamed.schema_.push_back({"", DataType{TypeId::uint32}, false});
    streamed.columns_.push_back({stored++, std::nullopt, 0});
  }
  return streamed;
}

compute::DeviceRows StreamedTables::rows(Side side) const {
  auto rows = sides_->of(side).rows();
  rows.number_rows = of(side).numbers_rows();
  return rows;
}

std::unique_ptr<DeviceTableState> StreamedTables::result() const {
  auto result = std::make_unique<DeviceTableState>();
  result->schema = schema_;
  result->columns = columns_;
  result->stored.push_back({{}, sides_->key_words});
  for (auto const side : kSides)
    for (auto const& column : sides_->of(side).rows().payload) result->stored.push_back({{}, column.words});
  for (auto const& side : tables_)
    if (side.numbers_rows()) result->stored.push_back({});
  return result;
}

std::vector<std::size_t> StreamedTables::stored_of(Side side) const {
  std::vector<std::size_t> stored;
  if (of(side).numbers_rows())
    stored.push_back(sides_->first_added() + (side == Side::right && of(Side::left).numbers_rows() ? 1 : 0));
  for (std::size_t i = 0; i < sides_->of(side).num_moved(); ++i) stored.push_back(sides_->first_of(side) + i);
  return stored;
}

std::uint64_t StreamedTables::device_bytes() const noexcept {
  return tables_[0].table.device_bytes() + tables_[1].table.device_bytes();
}

std::uint64_t StreamedTables::moved_row_bytes(Side side) const {
  auto const words = sides_->key_words + sides_->of(side).payload_words() + (of(side).numbers_rows() ? 1 : 0);
  return words * materialize::kWordBytes;
}

std::uint64_t StreamedTables::result_row_bytes() const noexcept {
  auto const numbers = (tables_[0].numbers_rows() ? 1U : 0U) + (tables_[1].numbers_rows() ? 1U : 0U);
  return sides_->result_row_bytes() + numbers * materialize::kWordBytes;
}

std::uint64_t StreamedTables::arriving_row_bytes() const {
  auto const there = result();
  std::vector<std::size_t> arriving;
  for (auto const& column : columns_) {
    add_once(arriving, column.stored);
    if (column.nulls) add_once(arriving, *column.nulls);
  }
  std::uint64_t words = 0;
  for (auto const s : arriving) words += there->stored[s].words;
  return words * materialize::kWordBytes;
}

}  // namespace garuda::device
