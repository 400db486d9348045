#include "operators/device/pinned_table.hpp"

#include <fmt/format.h>
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/bitmap.hpp"
#include "vk_runtime/memory/pinned_memory.hpp"

namespace garuda {

struct PinnedBuffer::Impl {
  vk::PinnedMemory memory;
  std::uint64_t bytes = 0;
};

PinnedBuffer::PinnedBuffer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PinnedBuffer::PinnedBuffer(PinnedBuffer&&) noexcept = default;
PinnedBuffer& PinnedBuffer::operator=(PinnedBuffer&&) noexcept = default;
PinnedBuffer::~PinnedBuffer() = default;

std::span<std::byte> PinnedBuffer::bytes() noexcept {
  return {impl_->memory.data(), static_cast<std::size_t>(impl_->bytes)};
}

namespace device {
namespace {

constexpr std::uint64_t kAlignment = 4096;
constexpr std::uint64_t kCopiedAtOnce = std::uint64_t{1} << 20;

std::uint64_t align(std::uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// Bytes of a column's values, those before its offset too: so validity bitmaps need not be shifted.
std::uint64_t value_bytes(ArrayView const& array, DataType const& type) {
  auto const values = array.offset + array.length;
  if (type.id == TypeId::boolean) return static_cast<std::uint64_t>(bitmap_bytes(values));
  return static_cast<std::uint64_t>(values) * static_cast<std::uint64_t>(byte_width(type));
}

std::uint64_t validity_bytes(ArrayView const& array) {
  return array.validity == nullptr ? 0 : static_cast<std::uint64_t>(bitmap_bytes(array.offset + array.length));
}

void copy(std::byte* target, void const* source, std::uint64_t bytes) {
  tbb::parallel_for(tbb::blocked_range<std::uint64_t>(0, bytes, kCopiedAtOnce), [&](auto const& range) {
    std::memcpy(target + range.begin(), static_cast<std::byte const*>(source) + range.begin(), range.size());
  });
}

/// Copies one batch, its columns behind one another in one piece of pinned memory.
Result<Batch> pin_batch(BatchView const& batch, Schema const& schema, vk::Device& device) {
  std::uint64_t bytes = 0;
  for (std::size_t c = 0; c < schema.size(); ++c)
    bytes += align(value_bytes(batch.columns[c], schema[c].type)) + align(validity_bytes(batch.columns[c]));
  auto memory = std::make_shared<vk::PinnedMemory>();
  GARUDA_TRY_ASSIGN(*memory, device.pinned().allocate(std::max(bytes, kAlignment)));
  Batch pinned;
  pinned.num_rows = batch.num_rows;
  auto* target = memory->data();
  for (std::size_t c = 0; c < schema.size(); ++c) {
    auto array = batch.columns[c];
    auto const values = value_bytes(array, schema[c].type);
    copy(target, array.values, values);
    array.values = target;
    target += align(values);
    if (auto const validity = validity_bytes(batch.columns[c]); validity > 0) {
      copy(target, array.validity, validity);
      array.validity = reinterpret_cast<std::uint8_t const*>(target);
      target += align(validity);
    }
    pinned.columns.push_back(array);
  }
  pinned.owner = std::move(memory);
  return pinned;
}

}  // namespace

Result<PinnedBuffer> allocate_pinned(vk::Device& device, std::uint64_t bytes) {
  if (bytes == 0) return fail(ErrorCode::usage, "pinned memory of no bytes was asked for");
  auto impl = std::make_unique<PinnedBuffer::Impl>();
  GARUDA_TRY_ASSIGN(impl->memory, device.pinned().allocate(bytes));
  impl->bytes = bytes;
  return PinnedBuffer(std::move(impl));
}

Result<Table> pin_table(TableView table, vk::Device& device, Control const& control) {
  for (auto const& field : table.schema())
    if (field.type.id == TypeId::dictionary || (field.type.id != TypeId::boolean && byte_width(field.type) <= 0))
      return fail(ErrorCode::invalid_input, fmt::format("column '{}' of type {} is not pinned: it has no fixed width",
                                                        field.name, to_string(field.type)));
  std::vector<Batch> batches;
  for (std::size_t b = 0; b < table.num_batches(); ++b) {
    if (control.is_cancelled()) return fail(ErrorCode::cancelled, "cancelled while a table was pinned");
    GARUDA_TRY_ASSIGN(auto batch, pin_batch(table.batch(b), table.schema(), device));
    batches.push_back(std::move(batch));
  }
  return Table(table.schema(), std::move(batches));
}

}  // namespace device
}  // namespace garuda
