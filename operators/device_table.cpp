#include "operators/device_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/bitmap.hpp"
#include "core/buffer.hpp"
#include "garuda/engine.hpp"
#include "operators/compute/compute_context.hpp"
#include "operators/compute/compute_lane.hpp"
#include "vk_runtime/pinned_memory.hpp"

namespace garuda::operators {
namespace {

constexpr std::uint64_t kWordBytes = 4;
constexpr std::uint32_t kNullBits = 32;  // of a word
constexpr std::uint64_t kLeastBlockBytes = std::uint64_t{1} << 20;
constexpr std::uint64_t kMostBlockBytes = std::uint64_t{64} << 20;

bool is_whole(DataType const& type) {
  return type.id != TypeId::boolean && byte_width(type) % static_cast<std::int32_t>(kWordBytes) == 0;
}

/// Signed values with their sign.
template <class T>
void extend(std::byte const* values, std::int64_t count, std::uint32_t* out) {
  for (std::int64_t i = 0; i < count; ++i) {
    T value;
    std::memcpy(&value, values + static_cast<std::size_t>(i) * sizeof(T), sizeof(T));
    out[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  }
}

/// Values of a batch of a narrow type, each in words of its own.
void widen(ArrayView const& array, DataType const& type, std::uint32_t words, std::uint32_t* out) {
  if (type.id == TypeId::boolean) {
    auto const* bits = static_cast<std::uint8_t const*>(array.values);
    for (std::int64_t i = 0; i < array.length; ++i) out[i] = get_bit(bits, array.offset + i) ? 1 : 0;
    return;
  }
  auto const width = static_cast<std::size_t>(byte_width(type));
  auto const* values = static_cast<std::byte const*>(array.values) + static_cast<std::size_t>(array.offset) * width;
  if (type.id == TypeId::int8) return extend<std::int8_t>(values, array.length, out);
  if (type.id == TypeId::int16) return extend<std::int16_t>(values, array.length, out);
  for (std::int64_t i = 0; i < array.length; ++i) {
    auto* const target = out + static_cast<std::size_t>(i) * words;
    target[words - 1] = 0;
    std::memcpy(target, values + static_cast<std::size_t>(i) * width, width);
  }
}

/// The inverse; booleans become a bitmap, which starts as zeros.
void narrow(std::uint32_t const* words, std::uint64_t rows, DataType const& type, std::uint32_t words_each,
            std::byte* out) {
  auto const width = static_cast<std::size_t>(byte_width(type));
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (type.id == TypeId::boolean) {
      out[i / 8] |= static_cast<std::byte>(words[i] << (i % 8));
    } else {
      std::memcpy(out + i * width, words + i * words_each, width);
    }
  }
}

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
  Uploader(TableView table, ComputeLane& lane, TeamUpload& team, DeviceTableState& state)
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
    GARUDA_TRY(lane_.context().order_all(phase::kUpload));
    return lane_.submissions().finish();
  }

 private:
  /// What the host has to look at: narrow values, and nulls.
  Result<void> convert() {
    for (std::size_t c = 0; c < table_.num_columns(); ++c)
      if (!is_whole(table_.schema()[c].type)) GARUDA_TRY(add_narrow_values(c));
    for (std::size_t c = 0; c < table_.num_columns(); ++c)
      if (has_nulls(c)) null_columns_.push_back(c);
    for (std::size_t first = 0; first < null_columns_.size(); first += kNullBits) GARUDA_TRY(add_nulls(first));
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
    if (!is_whole(type)) return {};
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
    auto const& type = table_.schema()[c].type;
    auto const& stored = state_.stored[state_.columns[c].stored];
    std::uint64_t offset = 0;
    for (std::size_t b = 0; b < table_.num_batches(); ++b) {
      auto const& array = table_.batch(b).columns[c];
      if (array.length == 0) continue;
      scratch_.resize(static_cast<std::size_t>(array.length) * stored.words);
      widen(array, type, stored.words, scratch_.data());
      GARUDA_TRY(lane_.context().upload(stored.buffer, offset, std::as_bytes(std::span(scratch_))));
      offset += scratch_.size() * kWordBytes;
    }
    return {};
  }

  bool has_nulls(std::size_t c) const {
    for (std::size_t b = 0; b < table_.num_batches(); ++b)
      if (count_nulls(table_.batch(b).columns[c]) > 0) return true;
    return false;
  }

  /// One word a row for up to 32 columns with nulls.
  Result<void> add_nulls(std::size_t first) {
    GARUDA_TRY_ASSIGN(auto* const buffer, add_buffer(1));
    auto const count = std::min<std::size_t>(kNullBits, null_columns_.size() - first);
    scratch_.assign(state_.rows, 0);
    for (std::size_t bit = 0; bit < count; ++bit) {
      auto const c = null_columns_[first + bit];
      state_.columns[c].nulls = state_.stored.size() - 1;
      state_.columns[c].null_bit = static_cast<std::uint32_t>(bit);
      std::uint64_t row = 0;
      for (std::size_t b = 0; b < table_.num_batches(); ++b) {
        auto const& array = table_.batch(b).columns[c];
        for (std::int64_t i = 0; i < array.length; ++i, ++row) scratch_[row] |= array.is_null(i) ? 1U << bit : 0U;
      }
    }
    return lane_.context().upload(*buffer, 0, std::as_bytes(std::span(scratch_)));
  }

  TableView table_;
  ComputeLane& lane_;
  TeamUpload& team_;
  DeviceTableState& state_;
  std::vector<vk::HostCopy> copies_;
  std::vector<std::size_t> null_columns_;
  std::vector<std::uint32_t> scratch_;
};

}  // namespace

std::optional<std::uint32_t> device_words(DataType const& type) noexcept {
  if (type.id == TypeId::boolean) return 1;
  auto const width = byte_width(type);
  if (type.id == TypeId::dictionary || width <= 0) return std::nullopt;
  return static_cast<std::uint32_t>((static_cast<std::uint64_t>(width) + kWordBytes - 1) / kWordBytes);
}

bool is_device_key(TypeId id) noexcept {
  switch (id) {
    case TypeId::int8:
    case TypeId::int16:
    case TypeId::int32:
    case TypeId::int64:
    case TypeId::uint8:
    case TypeId::uint16:
    case TypeId::uint32:
    case TypeId::uint64:
    case TypeId::date32:
    case TypeId::date64:
    case TypeId::timestamp:
    case TypeId::decimal32:
    case TypeId::decimal64:
      return true;
    default:
      return false;
  }
}

std::unique_ptr<vk::MemoryArena> column_arena(vk::Device& device, std::uint64_t bytes) {
  return std::make_unique<vk::MemoryArena>(device, std::clamp(bytes, kLeastBlockBytes, kMostBlockBytes));
}

Result<DeviceTable> upload_table(TableView table, TableDevice const& device, Control const& control,
                                 TeamUpload team) {
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
                    ComputeLane::open(*device.open.device, *device.open.pipelines, "", control, nullptr));
  // Its threads are done with the columns before these go, whatever happens.
  auto own = std::move(team);
  GARUDA_TRY(Uploader(table, *lane, own, *state).run());
  return DeviceTable(std::move(state));
}

bool reads_in_place(TableView table, vk::Device& device) {
  auto const& pinned = device.pinned();
  for (std::size_t c = 0; c < table.num_columns(); ++c) {
    auto const& type = table.schema()[c].type;
    if (!is_whole(type)) continue;
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
  if (!is_whole(type)) {
    auto const bytes = type.id == TypeId::boolean ? bitmap_bytes(array.length) : array.length * byte_width(type);
    GARUDA_TRY_ASSIGN(auto values, AlignedBuffer::allocate(bytes));
    if (type.id == TypeId::boolean && bytes > 0) std::memset(values.data(), 0, static_cast<std::size_t>(bytes));
    narrow(words, rows_, type, table_->stored[from.stored].words, values.data());
    array.values = values.data();
    converted_.push_back(std::move(values));
  }
  if (!from.nulls || rows_ == 0) return array;
  auto const* const nulls = words_[*from.nulls].as<std::uint32_t>();
  GARUDA_TRY_ASSIGN(auto bitmap, AlignedBuffer::allocate(bitmap_bytes(array.length)));
  std::memset(bitmap.data(), 0, static_cast<std::size_t>(bitmap.size_bytes()));
  auto* const bits = bitmap.as<std::uint8_t>();
  for (std::uint64_t i = 0; i < rows_; ++i) {
    auto const is_null = nulls[i] >> from.null_bit & 1U;
    bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | (1U - is_null) << (i % 8));
    array.null_count += is_null;
  }
  array.validity = bits;
  converted_.push_back(std::move(bitmap));
  return array;
}

}  // namespace garuda::operators

namespace garuda {

DeviceTable::DeviceTable(std::unique_ptr<operators::DeviceTableState> state) : state_(std::move(state)) {}
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
  GARUDA_TRY_ASSIGN(
      auto const lane,
      operators::ComputeLane::open(*state_->device.open.device, *state_->device.open.pipelines, "", control, nullptr));
  GARUDA_TRY_ASSIGN(auto range, operators::RangeDownload::create(*state_, 0, state_->rows));
  for (auto const& copy : range.copies())
    GARUDA_TRY(lane->context().download(*copy.buffer, {copy.host, static_cast<std::size_t>(copy.bytes)}));
  std::vector<Batch> batches;
  GARUDA_TRY_ASSIGN(auto batch, range.finish());
  if (state_->rows > 0) batches.push_back(std::move(batch));
  return Table(state_->schema, std::move(batches));
}

}  // namespace garuda
