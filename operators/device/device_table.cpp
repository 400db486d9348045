#include "operators/device/device_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/buffer.hpp"
#include "garuda/engine.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "operators/compute/primitives/compute_lane.hpp"
#include "operators/materialize/column_words.hpp"
#include "vk_runtime/pinned_memory.hpp"

namespace garuda::device {
namespace {

constexpr std::uint64_t kWordBytes = 4;
/// Rows whose values are converted at a time.
constexpr std::uint64_t kConvertedRows = std::uint64_t{1} << 20;
constexpr std::uint64_t kLeastBlockBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostBlockBytes = std::uint64_t{64} << 20;

/// The bytes of a column of whole words.
std::span<std::byte const> whole_values(ArrayView const& array, DataType const& type) {
  auto const width = static_cast<std::size_t>(byte_width(type));
  auto const* const values = static_cast<std::byte const*>(array.values);
  return {values + static_cast<std::size_t>(array.offset) * width, static_cast<std::size_t>(array.length) * width};
}

/// Puts the columns of one table into device memory: those of whole words by the team, if there is one, meanwhile the
/// others by the calling thread.
class Uploader {
 public:
  Uploader(TableView table, compute::ComputeLane& lane, TeamUpload& team, DeviceTableState& state)
      : table_(table), lane_(lane), team_(team), state_(state) {}

  Result<void> run() {
    // Copies refer to the buffers.
    state_.stored.reserve(2 * table_.num_columns());
    for (std::size_t c = 0; c < table_.num_columns(); ++c) GARUDA_TRY(add_values(c));
    auto const group = copies_.empty() ? nullptr : team_.team->start(std::move(copies_));
    auto const converted = convert();
    // Also when that failed: the team reads what is the caller's.
    if (group != nullptr) {
      GARUDA_TRY_ASSIGN(auto const tickets, team_.team->wait(*group));
      for (auto const ticket : tickets) lane_.submissions().start_after(ticket);
    }
    GARUDA_TRY(converted);
    // A submission that waits for the copies: what the device does next sees them.
    GARUDA_TRY(lane_.context().order_all(vulkan::phase::kUpload));
    return lane_.submissions().finish();
  }

 private:
  /// What the host has to look at: narrow values, and nulls.
  Result<void> convert() {
    for (std::size_t c = 0; c < table_.num_columns(); ++c)
      if (!materialize::is_whole_words(table_.schema()[c].type)) GARUDA_TRY(add_narrow_values(c));
    for (std::size_t c = 0; c < table_.num_columns(); ++c)
      if (materialize::has_nulls(table_, c)) null_columns_.push_back(c);
    for (std::size_t first = 0; first < null_columns_.size(); first += materialize::kNullBitsOfWord)
      GARUDA_TRY(add_nulls(first));
    return {};
  }

  Result<vk::Buffer*> add_buffer(std::uint32_t words) {
    vk::BufferSpec spec;
    spec.bytes = std::max<std::uint64_t>(state_.rows * words * kWordBytes, kWordBytes);
    bool const is_mapped = team_.team != nullptr && team_.mode == vk::UploadMode::map;
    spec.use = is_mapped ? vk::MemoryUse::device_mapped : lane_.context().upload_use();
    spec.name = "table column";
    GARUDA_TRY_ASSIGN(auto buffer, state_.arena->buffer(spec));
    state_.stored.push_back({std::move(buffer), words});
    return &state_.stored.back().buffer;
  }

  Result<void> add_values(std::size_t c) {
    auto const& type = table_.schema()[c].type;
    auto const words = *device_words(type);
    GARUDA_TRY_ASSIGN(auto* const buffer, add_buffer(words));
    state_.columns.push_back({state_.stored.size() - 1, std::nullopt, 0});
    if (!materialize::is_whole_words(type)) return {};
    std::uint64_t offset = 0;
    for (std::size_t b = 0; b < table_.num_batches(); ++b) {
      auto const bytes = whole_values(table_.batch(b).columns[c], type);
      if (bytes.empty()) continue;
      if (team_.team != nullptr) {
        // Only read on the way up; the copy's type serves both directions.
        copies_.push_back({buffer, offset, const_cast<std::byte*>(bytes.data()), bytes.size()});
      } else {
        GARUDA_TRY(lane_.context().upload(*buffer, offset, bytes));
      }
      offset += bytes.size();
    }
    return {};
  }

  Result<void> add_narrow_values(std::size_t c) {
    auto const& stored = state_.stored[state_.columns[c].stored];
    return convert_rows(stored.buffer, stored.words, [&](std::uint64_t first, std::uint64_t rows, std::byte* out) {
      materialize::read_words(table_, c, stored.words, first, rows, out);
    });
  }

  /// One word a row for up to 32 columns with nulls.
  Result<void> add_nulls(std::size_t first) {
    GARUDA_TRY_ASSIGN(auto* const buffer, add_buffer(1));
    auto const count = std::min<std::size_t>(materialize::kNullBitsOfWord, null_columns_.size() - first);
    auto const columns = std::span(null_columns_).subspan(first, count);
    for (std::size_t bit = 0; bit < count; ++bit) {
      state_.columns[columns[bit]].nulls = state_.stored.size() - 1;
      state_.columns[columns[bit]].null_bit = static_cast<std::uint32_t>(bit);
    }
    return convert_rows(*buffer, 1, [&](std::uint64_t first_row, std::uint64_t rows, std::byte* out) {
      materialize::read_null_words(table_, columns, first_row, rows, out);
    });
  }

  /// Uploads what read(first, rows, out) makes of the table's rows, `words` each.
  template <class Read>
  Result<void> convert_rows(vk::Buffer const& buffer, std::uint32_t words, Read const& read) {
    for (std::uint64_t first = 0; first < state_.rows; first += kConvertedRows) {
      auto const rows = std::min(kConvertedRows, state_.rows - first);
      scratch_.resize(rows * words * kWordBytes);
      read(first, rows, scratch_.data());
      GARUDA_TRY(lane_.context().upload(buffer, first * words * kWordBytes, scratch_));
    }
    return {};
  }

  TableView table_;
  compute::ComputeLane& lane_;
  TeamUpload& team_;
  DeviceTableState& state_;
  std::vector<vk::HostCopy> copies_;
  std::vector<std::size_t> null_columns_;
  std::vector<std::byte> scratch_;
};

}  // namespace

std::optional<std::uint32_t> device_words(DataType const& type) noexcept {
  if (type.id == TypeId::boolean) return 1;
  auto const width = byte_width(type);
  if (type.id == TypeId::dictionary || width <= 0) return std::nullopt;
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(width) + kWordBytes - 1) / kWordBytes);
}

std::uint32_t device_key_words(DataType const& common) noexcept {
  // Decimals of more words have to fit two.
  return std::min(device_words(common).value_or(1), 2U);
}

std::unique_ptr<vk::MemoryArena> column_arena(vk::Device& device, std::uint64_t bytes) {
  return std::make_unique<vk::MemoryArena>(device, std::clamp(bytes, kLeastBlockBytes, kMostBlockBytes));
}

Result<DeviceTable> upload_table(TableView table, TableDevice const& device, Control const& control, TeamUpload team) {
  auto state = std::make_unique<DeviceTableState>();
  state->schema = table.schema();
  state->rows = static_cast<std::uint64_t>(table.num_rows());
  state->device = device;
  std::uint64_t bytes = 0;
  for (auto const& field : table.schema()) {
    auto const words = device_words(field.type);
    if (!words) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("column '{}' of type {} cannot be kept on a device: its values have no fixed width there",
                              field.name, to_string(field.type)));
    }
    bytes += state->rows * *words * kWordBytes;
  }
  state->arena = column_arena(*device.open.device, bytes);
  GARUDA_TRY_ASSIGN(auto const lane,
                    compute::ComputeLane::open(*device.open.device, *device.open.pipelines, "", control, nullptr));
  // Its threads are done with the columns before these go, whatever happens.
  auto own = std::move(team);
  GARUDA_TRY(Uploader(table, *lane, own, *state).run());
  return DeviceTable(std::move(state));
}

bool reads_in_place(TableView table, vk::Device& device) {
  auto const& pinned = device.pinned();
  for (std::size_t c = 0; c < table.num_columns(); ++c) {
    auto const& type = table.schema()[c].type;
    if (!materialize::is_whole_words(type)) continue;
    for (std::size_t b = 0; b < table.num_batches(); ++b) {
      auto const bytes = whole_values(table.batch(b).columns[c], type);
      if (!bytes.empty() && !pinned.covers(bytes.data(), bytes.size())) return false;
    }
  }
  return true;
}

Result<RangeDownload> RangeDownload::create(DeviceTableState const& table, std::uint64_t first, std::uint64_t rows) {
  RangeDownload download;
  download.table_ = &table;
  download.first_ = first;
  download.rows_ = rows;
  for (auto const& stored : table.stored) {
    auto const bytes = rows * stored.words * kWordBytes;
    GARUDA_TRY_ASSIGN(auto words, AlignedBuffer::allocate(static_cast<std::int64_t>(bytes)));
    download.words_.push_back(std::move(words));
    download.bytes_ += bytes;
  }
  return download;
}

std::vector<vk::HostCopy> RangeDownload::copies() {
  std::vector<vk::HostCopy> copies;
  for (std::size_t s = 0; s < words_.size(); ++s) {
    auto const width = table_->stored[s].words * kWordBytes;
    if (rows_ > 0) copies.push_back({&table_->stored[s].buffer, first_ * width, words_[s].data(), rows_ * width});
  }
  return copies;
}

Result<Batch> RangeDownload::finish() {
  Batch batch;
  batch.num_rows = static_cast<std::int64_t>(rows_);
  for (std::size_t c = 0; c < table_->columns.size(); ++c) {
    GARUDA_TRY_ASSIGN(auto const array, column(c));
    batch.columns.push_back(array);
  }
  for (auto& words : words_) converted_.push_back(std::move(words));
  // Arrays of the batch are exported and outlive each other in any order.
  batch.owner = std::make_shared<std::vector<AlignedBuffer>>(std::move(converted_));
  return batch;
}

Result<ArrayView> RangeDownload::column(std::size_t c) {
  auto const& type = table_->schema[c].type;
  auto const& from = table_->columns[c];
  ArrayView array;
  array.length = static_cast<std::int64_t>(rows_);
  array.null_count = 0;
  auto const* const words = words_[from.stored].as<std::uint32_t>();
  array.values = words;
  if (!materialize::is_whole_words(type)) {
    GARUDA_TRY_ASSIGN(auto values, materialize::values_of_words(words, rows_, table_->stored[from.stored].words, type));
    array.values = values.data();
    converted_.push_back(std::move(values));
  }
  if (!from.nulls || rows_ == 0) return array;
  auto const* const nulls = words_[*from.nulls].as<std::uint32_t>();
  GARUDA_TRY_ASSIGN(auto validity, materialize::validity_of(nulls, rows_, from.null_bit));
  array.null_count = validity.nulls;
  array.validity = validity.bits.as<std::uint8_t>();
  converted_.push_back(std::move(validity.bits));
  return array;
}

}  // namespace garuda::device

namespace garuda {

DeviceTable::DeviceTable(std::unique_ptr<device::DeviceTableState> state) : state_(std::move(state)) {}
DeviceTable::DeviceTable(DeviceTable&&) noexcept = default;
DeviceTable& DeviceTable::operator=(DeviceTable&&) noexcept = default;
DeviceTable::~DeviceTable() = default;

Schema const& DeviceTable::schema() const noexcept { return state_->schema; }
std::uint64_t DeviceTable::num_rows() const noexcept { return state_->rows; }
std::uint32_t DeviceTable::device() const noexcept { return state_->device.info->index; }

std::uint64_t DeviceTable::device_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (auto const& stored : state_->stored) bytes += stored.buffer.bytes();
  return bytes;
}

Result<Table> DeviceTable::download(Control const& control) const {
  GARUDA_TRY_ASSIGN(auto const lane, compute::ComputeLane::open(*state_->device.open.device,
                                                                *state_->device.open.pipelines, "", control, nullptr));
  GARUDA_TRY_ASSIGN(auto range, device::RangeDownload::create(*state_, 0, state_->rows));
  for (auto const& copy : range.copies())
    GARUDA_TRY(lane->context().download(*copy.buffer, {copy.host, static_cast<std::size_t>(copy.bytes)}));
  std::vector<Batch> batches;
  GARUDA_TRY_ASSIGN(auto batch, range.finish());
  if (state_->rows > 0) batches.push_back(std::move(batch));
  return Table(state_->schema, std::move(batches));
}

}  // namespace garuda
