#include "operators/device/device_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "garuda/run.hpp"
#include "keys/codes/key_types.hpp"
#include "operators/compute/primitives/compute_lane.hpp"
#include "operators/device/column_upload.hpp"
#include "operators/device/device_index.hpp"
#include "operators/materialize/column_words.hpp"
#include "operators/vulkan/column_copies.hpp"
#include "operators/vulkan/upload_mode.hpp"

namespace garuda::device {
namespace {

constexpr std::uint64_t kLeastBlockBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostBlockBytes = std::uint64_t{64} << 20;

/// Takes device memory for `columns`, which `state` has an outline of.
Result<void> take_columns(std::span<UploadColumn const> columns, vk::MemoryUse use, DeviceTableState& state) {
  state.arena = column_arena(*state.device.open.device, state.rows * row_bytes(columns));
  for (auto& stored : state.stored) {
    vk::BufferSpec spec;
    spec.bytes = std::max<std::uint64_t>(state.rows * stored.words * materialize::kWordBytes, materialize::kWordBytes);
    spec.use = use;
    spec.name = "table column";
    GARUDA_TRY_ASSIGN(stored.buffer, state.arena->buffer(spec));
  }
  return {};
}

/// Copies the rows; what the device does next sees them.
Result<void> copy_up(ColumnUpload const& upload, Upload way, UploadOptions const& options,
                     DeviceTableState const& state) {
  auto const& open = state.device.open;
  auto const begin = std::chrono::steady_clock::now();
  bool const pinned = upload.is_pinned(*open.device);
  GARUDA_TRY_ASSIGN(auto const lane,
                    compute::ComputeLane::open(*open.device, *open.pipelines, "", options.control, nullptr));
  GARUDA_TRY_ASSIGN(auto const team, vulkan::open_copy_team(*open.device, vk::CopyDirection::up,
                                                            {way, options.threads, pinned, options.control.cancelled}));
  auto const group = team->start(upload.copies(0, state.rows));
  GARUDA_TRY_ASSIGN(auto const tickets, team->wait(*group));
  for (auto const ticket : tickets) lane->submissions().start_after(ticket);
  GARUDA_TRY(lane->context().order_all(vulkan::phase::kUpload));
  GARUDA_TRY(lane->submissions().finish());
  if (options.stats == nullptr) return {};
  if (pinned) options.stats->add_counter("pinned", 1);
  options.stats->add_counter(contract::kCopiedUp, vk::CopyTeam::copied_bytes(*group));
  std::uint64_t bytes = 0;
  for (auto const& stored : state.stored) bytes += stored.buffer.bytes();
  auto const elapsed = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin);
  options.stats->add_phase("upload", static_cast<std::uint64_t>(elapsed.count()), bytes, state.rows);
  return {};
}

}  // namespace

std::optional<std::uint32_t> device_words(DataType const& type) noexcept {
  if (type.id == TypeId::boolean) return 1;
  auto const width = byte_width(type);
  if (type.id == TypeId::dictionary || width <= 0) return std::nullopt;
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(width) + materialize::kWordBytes - 1) /
                                    materialize::kWordBytes);
}

std::uint32_t device_key_words(DataType const& common) noexcept {
  // Decimals of more words have to fit two.
  return std::min(device_words(common).value_or(1), 2U);
}

Result<DataType> device_key_type(Schema const& left, Schema const& right, resolve::ResolvedJoin const& columns) {
  auto const& pair = columns.keys.front();
  auto const& type = pair.type;
  if (columns.keys.size() == 1 && keys::extends_to(left[pair.left].type, type) &&
      keys::extends_to(right[pair.right].type, type))
    return type;
  constexpr auto kTaken =
      "tables whole on a device are joined by one key column of integers, dates, times or decimals "
      "of one scale and unit";
  if (columns.keys.size() > 1)
    return fail(ErrorCode::usage, fmt::format("{}: {} columns", kTaken, columns.keys.size()));
  return fail(ErrorCode::invalid_input,
              fmt::format("{}: {} and {}", kTaken, to_string(left[pair.left].type), to_string(right[pair.right].type)));
}

std::unique_ptr<vk::MemoryArena> column_arena(vk::Device& device, std::uint64_t bytes) {
  return std::make_unique<vk::MemoryArena>(device, std::clamp(bytes, kLeastBlockBytes, kMostBlockBytes));
}

Result<TableOutline> outline_table(TableView table, std::span<std::size_t const> wanted, TableDevice const& device) {
  TableOutline outline{std::make_unique<DeviceTableState>(), {}};
  auto& [state, columns] = outline;
  state->rows = static_cast<std::uint64_t>(table.num_rows());
  state->device = device;
  std::vector<std::size_t> nullable;
  for (auto const column : wanted) {
    auto const& field = state->schema.emplace_back(table.schema()[column]);
    if (!device_words(field.type))
      return fail(ErrorCode::invalid_input,
                  fmt::format("column '{}' of type {} cannot be kept on a device: its values have no fixed width there",
                              field.name, to_string(field.type)));
    state->columns.push_back({columns.size(), std::nullopt, 0});
    columns.push_back(value_column(table, column));
    if (materialize::has_nulls(table, column)) nullable.push_back(column);
  }
  for (auto const& bits : add_null_words(nullable, columns))
    for (std::size_t c = 0; c < wanted.size(); ++c) {
      if (wanted[c] != bits.column) continue;
      state->columns[c].nulls = bits.position;
      state->columns[c].null_bit = bits.bit;
    }
  for (auto const& column : columns) state->stored.push_back({{}, column.words});
  return outline;
}

Result<DeviceTable> upload_table(TableView table, std::span<std::size_t const> wanted, TableDevice const& device,
                                 UploadOptions const& options) {
  GARUDA_TRY_ASSIGN(auto outline, outline_table(table, wanted, device));
  auto& [state, columns] = outline;
  GARUDA_TRY_ASSIGN(auto const way, vulkan::upload_on(*device.open.device, options.upload));
  bool const is_mapped = vulkan::mode_of(way) == vk::UploadMode::map;
  GARUDA_TRY(take_columns(columns, is_mapped ? vk::MemoryUse::device_mapped : vk::MemoryUse::device, *state));
  std::vector<vk::Buffer const*> targets;
  for (auto const& stored : state->stored) targets.push_back(&stored.buffer);
  ColumnUpload const upload(table, columns, std::move(targets));
  if (state->rows > 0) GARUDA_TRY(copy_up(upload, way, options, *state));
  return DeviceTable(std::move(state));
}

std::vector<std::size_t> all_columns(DeviceTableState const& table) {
  std::vector<std::size_t> all(table.columns.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Result<Table> download_columns(DeviceTableState const& table, std::span<std::size_t const> columns,
                               Control const& control) {
  auto const& open = table.device.open;
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(*open.device, *open.pipelines, "", control, nullptr));
  GARUDA_TRY_ASSIGN(auto range, RangeDownload::create(table, {columns.begin(), columns.end()}, 0, table.rows));
  for (auto const& copy : range.copies())
    GARUDA_TRY(lane->context().download(*copy.buffer, {copy.host, static_cast<std::size_t>(copy.bytes)}));
  Schema schema;
  for (auto const column : columns) schema.push_back(table.schema[column]);
  std::vector<Batch> batches;
  GARUDA_TRY_ASSIGN(auto batch, range.finish());
  if (table.rows > 0) batches.push_back(std::move(batch));
  return Table(std::move(schema), std::move(batches));
}

Result<RangeDownload> RangeDownload::create(DeviceTableState const& table, std::vector<std::size_t> columns,
                                            std::uint64_t first, std::uint64_t rows) {
  RangeDownload download;
  download.table_ = &table;
  download.columns_ = std::move(columns);
  download.first_ = first;
  download.rows_ = rows;
  download.words_.resize(table.stored.size());
  auto const take = [&](std::size_t stored) -> Result<void> {
    if (download.words_[stored].data() != nullptr) return {};
    auto const bytes = rows * table.stored[stored].words * materialize::kWordBytes;
    GARUDA_TRY_ASSIGN(download.words_[stored], AlignedBuffer::allocate(static_cast<std::int64_t>(bytes)));
    download.bytes_ += bytes;
    return {};
  };
  for (auto const column : download.columns_) {
    auto const& from = table.columns[column];
    GARUDA_TRY(take(from.stored));
    if (from.nulls) GARUDA_TRY(take(*from.nulls));
  }
  return download;
}

std::vector<vk::HostCopy> RangeDownload::copies() {
  std::vector<vk::HostCopy> copies;
  for (std::size_t s = 0; s < words_.size(); ++s) {
    auto const width = table_->stored[s].words * materialize::kWordBytes;
    if (rows_ > 0 && words_[s].data() != nullptr)
      copies.push_back({&table_->stored[s].buffer, first_ * width, words_[s].data(), rows_ * width});
  }
  return copies;
}

Result<Batch> RangeDownload::finish() {
  Batch batch;
  batch.num_rows = static_cast<std::int64_t>(rows_);
  for (auto const c : columns_) {
    GARUDA_TRY_ASSIGN(auto const array, column(c));
    batch.columns.push_back(array);
  }
  for (auto& words : words_) converted_.push_back(std::move(words));
  // Arrays of the batch are exported and outlive each other in any order.
  batch.owner = std::make_shared<std::vector<AlignedBuffer>>(std::move(converted_));
  return batch;
}

Result<ArrayView> RangeDownload::column(std::size_t c) {
  auto const& from = table_->columns[c];
  auto const at = [&](std::size_t stored) { return words_[stored].as<std::uint32_t>(); };
  return materialize::array_of_words(
      {at(from.stored), table_->stored[from.stored].words, from.nulls ? at(*from.nulls) : nullptr, from.null_bit},
      rows_, table_->schema[c].type, converted_);
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

Schema const& DeviceTable::schema() const noexcept { return state_->schema; }
std::uint64_t DeviceTable::num_rows() const noexcept { return state_->rows; }
std::uint32_t DeviceTable::device() const noexcept { return state_->device.info->index; }

Result<DeviceTable> QueryResult::take_device_table() {
  return fail(ErrorCode::usage, "the rows of this result are not on a device as a whole: its tables are the host's");
}

std::uint64_t DeviceTable::device_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (auto const& stored : state_->stored) bytes += stored.buffer.bytes();
  for (auto const& index : state_->indexes)
    for (auto const* const buffer : {&index.keys, &index.numbers, &index.entries}) bytes += buffer->bytes();
  return bytes;
}

Result<void> DeviceTable::build_index(std::string const& column, Control const& control) {
  return device::build_index(*state_, column, control);
}

TableView DeviceTable::view() const noexcept { return {state_->schema, {&state_->batch, 1}, state_.get()}; }

Result<Table> DeviceTable::download(Control const& control) const {
  return device::download_columns(*state_, device::all_columns(*state_), control);
}

}  // namespace garuda
