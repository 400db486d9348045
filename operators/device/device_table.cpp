#include "operators/device/device_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "core/positions.hpp"
#include "garuda/run.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/strings/device_strings.hpp"
#include "operators/device/column_upload.hpp"
#include "operators/device/known_values.hpp"
#include "operators/device/range_download.hpp"
#include "operators/device/strings/string_numbers.hpp"
#include "operators/device/strings/string_upload.hpp"
#include "operators/materialize/column_bytes.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/vulkan/vulkan_devices.hpp"

namespace garuda::device {
namespace {

constexpr std::uint64_t kLeastBlockBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostBlockBytes = std::uint64_t{64} << 20;

/// A column of strings on its way.
struct UploadedStrings {
  std::size_t column = 0;  ///< of the table there
  std::unique_ptr<StringUpload> upload;
};

/// Device memory for columns that go up by the way `upload`.
vk::MemoryUse use_of(Upload upload) {
  return contract::mode_of(upload) == vk::UploadMode::map ? vk::MemoryUse::device_mapped : vk::MemoryUse::device;
}

/// Measures strings, and takes device memory for them.
Result<std::vector<UploadedStrings>> take_strings(TableView table, std::span<std::size_t const> wanted,
                                                  vk::MemoryUse use, std::uint64_t most_bytes,
                                                  DeviceTableState& state) {
  std::vector<UploadedStrings> taken;
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    if (!is_stored_as_strings(state.schema[c].type)) continue;
    GARUDA_TRY_ASSIGN(auto upload, StringUpload::create(table, wanted[c], *state.device.open.device, use, most_bytes));
    state.schema[c].type = upload->type();
    state.columns[c].strings = upload->strings();
    taken.push_back({c, std::move(upload)});
  }
  return taken;
}

/// Numbers of strings that no codes refer to are those of their rows.
Result<void> record_row_numbers(compute::ComputeContext& context, std::span<UploadedStrings const> strings,
                                DeviceTableState const& state) {
  for (auto const& [c, upload] : strings) {
    if (upload->has_codes()) continue;
    auto const& column = state.columns[c];
    GARUDA_TRY_ASSIGN(auto const view, view_of(context, *column.strings, *column.strings));
    GARUDA_TRY(
        compute::record_string_keys(context, view, {state.rows, 0, 0}, state.stored[column.stored].buffer.address()));
  }
  return {};
}

/// Copies the rows; what the device does next sees them.
Result<void> copy_up(ColumnUpload const& upload, std::span<UploadedStrings const> strings, Upload way,
                     UploadOptions const& options, DeviceTableState const& state) {
  auto const& open = state.device.open;
  auto const begin = std::chrono::steady_clock::now();
  bool const pinned = strings.empty() && upload.is_pinned(*open.device);
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(open, options.control));
  auto const bytes = bytes_of(state);
  GARUDA_TRY_ASSIGN(auto const team,
                    vulkan::open_copy_team(*open.device, vk::CopyDirection::up,
                                           {way, options.threads, bytes, pinned, options.control.cancelled}));
  std::vector<vk::HostCopy> copies;
  if (state.rows > 0) copies = upload.copies(0, state.rows);
  for (auto const& [c, own] : strings)
    std::ranges::move(own->copies(state.stored[state.columns[c].stored].buffer), std::back_inserter(copies));
  auto const group = team->start(std::move(copies));
  GARUDA_TRY_ASSIGN(auto const tickets, team->wait(*group));
  for (auto const ticket : tickets) lane->submissions().start_after(ticket);
  GARUDA_TRY(lane->context().order_all(vulkan::phase::kUpload));
  GARUDA_TRY(record_row_numbers(lane->context(), strings, state));
  GARUDA_TRY(lane->context().order_all(vulkan::phase::kUpload));
  GARUDA_TRY(lane->submissions().finish());
  if (options.stats == nullptr) return {};
  if (pinned) options.stats->add_counter("pinned", 1);
  options.stats->add_counter(contract::kCopiedUp, vk::CopyTeam::copied_bytes(*group));
  auto const elapsed = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin);
  options.stats->add_phase("upload", static_cast<std::uint64_t>(elapsed.count()), bytes, state.rows);
  return {};
}

}  // namespace

std::uint64_t bytes_of(DeviceTableState const& table) noexcept {
  std::uint64_t bytes = 0;
  for (auto const& stored : table.stored) bytes += stored.buffer.bytes();
  for (auto column = table.columns.begin(); column != table.columns.end(); ++column) {
    if (column->strings == nullptr) continue;
    for (auto const& piece : column->strings->pieces) {
      bool const is_counted = std::any_of(table.columns.begin(), column, [&](auto const& before) {
        return before.strings != nullptr &&
               std::ranges::find(before.strings->pieces, piece) != before.strings->pieces.end();
      });
      if (!is_counted) bytes += piece->device_bytes();
    }
  }
  return bytes;
}

std::uint64_t limit_beside(RunOptions const& options, std::uint64_t bytes) noexcept {
  auto const limit = options.device_memory_limit_bytes;
  return limit == 0 ? 0 : std::max<std::uint64_t>(limit - std::min(limit, bytes), 1);
}

std::unique_ptr<vk::MemoryArena> column_arena(vk::Device& device, std::uint64_t bytes) {
  return std::make_unique<vk::MemoryArena>(device, std::clamp(bytes, kLeastBlockBytes, kMostBlockBytes));
}

Result<DeviceTableState::Stored> take_column(DeviceTableState& table, std::uint32_t words, vk::MemoryUse use) {
  vk::BufferSpec spec;
  spec.bytes = std::max<std::uint64_t>(table.rows * words * materialize::kWordBytes, materialize::kWordBytes);
  spec.use = use;
  spec.name = "table column";
  GARUDA_TRY_ASSIGN(auto buffer, table.arena->buffer(spec));
  return DeviceTableState::Stored{std::move(buffer), words};
}

Result<LaidOutTable> lay_out_table(TableView table, std::span<std::size_t const> wanted, TableDevice const& device,
                                   std::uint32_t key_words) {
  LaidOutTable laid_out{std::make_unique<DeviceTableState>(), {}};
  auto& [state, columns] = laid_out;
  state->rows = static_cast<std::uint64_t>(table.num_rows());
  state->device = device;
  std::vector<std::size_t> nullable;
  for (auto const column : wanted) {
    auto const& field = state->schema.emplace_back(table.schema()[column]);
    bool const is_string = is_stored_as_strings(field.type);
    if (!stored_words(field.type))
      return fail(ErrorCode::invalid_input,
                  fmt::format("column '{}' of type {} cannot be kept on a device: its values have no fixed width there",
                              field.name, to_string(field.type)));
    state->columns.push_back({columns.size(), std::nullopt, 0});
    if (!is_string) columns.push_back(value_column(table, column));
    if (materialize::has_nulls(table, column)) nullable.push_back(column);
  }
  if (key_words != 0 && columns[0].words != key_words) columns[0] = {{wanted[0]}, key_words, false, false};
  for (auto const& bits : add_null_words(nullable, columns))
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      if (wanted[c] != bits.column) continue;
      state->columns[c].nulls = bits.position;
      state->columns[c].null_bit = bits.bit;
    }
  for (auto const& column : columns) state->stored.push_back({{}, column.words});
  for (std::size_t c = 0; c < wanted.size(); ++c) {
    if (!is_stored_as_strings(state->schema[c].type)) continue;
    state->columns[c].stored = state->stored.size();
    state->columns[c].strings = outline_strings(table, wanted[c]);
    state->stored.push_back({});
  }
  return laid_out;
}

Result<void> take_columns(LaidOutTable& table, Upload upload) {
  auto& state = *table.state;
  state.arena = column_arena(*state.device.open.device, state.rows * row_bytes(table.columns));
  for (auto& stored : state.stored) {
    GARUDA_TRY_ASSIGN(stored, take_column(state, stored.words, use_of(upload)));
  }
  return {};
}

Result<DeviceTable> upload_table(TableView table, std::span<std::size_t const> wanted, TableDevice const& device,
                                 UploadOptions const& options) {
  GARUDA_TRY_ASSIGN(auto laid_out, lay_out_table(table, wanted, device));
  auto& [state, columns] = laid_out;
  bool const has_strings = columns.size() < state->stored.size();
  auto const bytes = has_strings ? vulkan::kManyBytes : state->rows * row_bytes(columns);
  GARUDA_TRY_ASSIGN(auto const way, vulkan::upload_on(*device.open.device, options.upload, bytes));
  GARUDA_TRY(take_columns(laid_out, way));
  GARUDA_TRY_ASSIGN(auto const strings, take_strings(table, wanted, use_of(way), options.most_string_bytes, *state));
  std::vector<vk::Buffer const*> targets;
  for (std::size_t i = 0; i < columns.size(); ++i) targets.push_back(&state->stored[i].buffer);
  ColumnUpload const upload(table, columns, std::move(targets));
  if (state->rows > 0 || !strings.empty()) GARUDA_TRY(copy_up(upload, strings, way, options, *state));
  return DeviceTable(std::move(state));
}

std::vector<std::size_t> all_columns(DeviceTableState const& table) { return first_positions(table.columns.size()); }

Result<DownloadedColumns> download_columns(DeviceTableState const& table, std::span<std::size_t const> columns,
                                           Control const& control) {
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(table.device.open, control));
  bool const has_strings = std::ranges::any_of(columns, [&](auto c) { return table.columns[c].strings != nullptr; });
  auto const most_rows = has_strings ? std::min(table.rows, compute::kMaxScanElements) : table.rows;
  GARUDA_TRY_ASSIGN(auto strings, StringDownload::create(lane->context(), table, columns, most_rows));
  Schema schema;
  for (auto const column : columns) schema.push_back(table.schema[column]);
  std::vector<Batch> batches;
  std::uint64_t bytes = 0;
  for (std::uint64_t first = 0; first < table.rows;) {
    auto rows = std::min(most_rows, table.rows - first);
    GARUDA_TRY_ASSIGN(auto gathered, strings.gather(first, rows, kMostStringBytes));
    GARUDA_TRY_ASSIGN(
        auto range, RangeDownload::create(table, {{columns.begin(), columns.end()}, first, rows}, std::move(gathered)));
    for (auto const& copy : range.copies())
      GARUDA_TRY(
          lane->context().download(*copy.buffer, {copy.host, static_cast<std::size_t>(copy.bytes)}, copy.offset));
    GARUDA_TRY_ASSIGN(auto batch, range.finish());
    batches.push_back(std::move(batch));
    bytes += range.bytes();
    first += rows;
  }
  return DownloadedColumns{Table(std::move(schema), std::move(batches)), bytes};
}

}  // namespace garuda::device

namespace garuda {

DeviceTable::DeviceTable(std::unique_ptr<device::DeviceTableState> state) : state_(std::move(state)) {
  ArrayView there;
  there.length = static_cast<std::int64_t>(state_->rows);
  there.location = {Location::Kind::device, device()};
  state_->shown.assign(state_->schema.size(), there);
  state_->batch = {there.length, state_->shown};
}
DeviceTable::DeviceTable(DeviceTable&&) noexcept = default;
DeviceTable& DeviceTable::operator=(DeviceTable&&) noexcept = default;
DeviceTable::~DeviceTable() = default;
std::unique_ptr<device::DeviceTableState> DeviceTable::take_state() && noexcept { return std::move(state_); }

Schema const& DeviceTable::schema() const noexcept { return state_->schema; }
std::uint64_t DeviceTable::num_rows() const noexcept { return state_->rows; }
std::uint32_t DeviceTable::device() const noexcept { return state_->device.info->index; }

Result<DeviceTable> QueryResult::take_device_table() {
  return fail(ErrorCode::usage, "the rows of this result are not on a device as a whole: its tables are the host's");
}

std::uint64_t DeviceTable::device_bytes() const noexcept {
  auto bytes = device::bytes_of(*state_);
  {
    std::lock_guard const lock(state_->known.mutex);
    for (auto const& kept : state_->known.strings) bytes += kept->numbers.bytes();
  }
  for (auto const& index : state_->indexes)
    for (auto const* const buffer : {&index.keys, &index.numbers, &index.entries}) bytes += buffer->bytes();
  return bytes;
}

Result<void> DeviceTable::build_index(std::string const& column, Control const& control) {
  return device::build_index(*state_, column, control);
}

TableView DeviceTable::view() const noexcept { return {state_->schema, {&state_->batch, 1}, state_.get()}; }

Result<Table> DeviceTable::download(Control const& control) const {
  GARUDA_TRY_ASSIGN(auto columns, device::download_columns(*state_, device::all_columns(*state_), control));
  return std::move(columns.table);
}

}  // namespace garuda
