#include "vk_runtime/memory/pinned_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace garuda::vk {
namespace {

/// Largest part that is imported at once.
constexpr std::uint64_t kMostImportBytes = std::uint64_t{1} << 30;
/// Kept memory serves requests down to its size divided by this.
constexpr std::uint64_t kMostSlack = 2;

}  // namespace

PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  if (this != &other) {
    release();
    memory_ = std::move(other.memory_);
    registry_ = std::move(other.registry_);
  }
  return *this;
}

PinnedMemory::~PinnedMemory() { release(); }

void PinnedMemory::release() noexcept {
  if (auto const registry = std::exchange(registry_, nullptr)) registry->give_back(std::exchange(memory_, {}));
}

PinnedRegistry::PinnedRegistry(Device& device)
    : is_supported_(device.traits().features.external_memory_host), arena_(std::make_unique<MemoryArena>(device)) {}

std::shared_ptr<PinnedRegistry> PinnedRegistry::create(Device& device) {
  return std::shared_ptr<PinnedRegistry>(new PinnedRegistry(device));
}

Result<PinnedMemory> PinnedRegistry::allocate(std::uint64_t bytes) {
  GARUDA_EXPECTS(bytes > 0);
  if (!is_supported_) return fail(ErrorCode::no_device, "the device cannot import host memory, so none can be pinned");
  PinnedMemory pinned;
  {
    std::lock_guard const lock(mutex_);
    if (arena_ == nullptr) return fail(ErrorCode::no_device, "the device of the pinned memory is closed");
    if (auto kept = take_kept(bytes)) pinned.memory_ = std::move(*kept);
  }
  if (pinned.memory_.data() == nullptr) {
    if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / 2)
      return fail(ErrorCode::out_of_memory, fmt::format("no host has so much memory, bytes: {}", bytes));
    GARUDA_TRY_ASSIGN(pinned.memory_, AlignedBuffer::allocate(static_cast<std::int64_t>(bytes)));
    std::lock_guard const lock(mutex_);
    if (auto imported = import_pages(pinned.memory_); !imported) {
      forget(pinned.memory_);
      return tl::unexpected<Error>(
          std::move(imported).error().wrap(fmt::format("host memory cannot be pinned, bytes: {}", bytes)));
    }
  }
  pinned.registry_ = shared_from_this();
  return pinned;
}

Result<void> PinnedRegistry::import_pages(AlignedBuffer& memory) {
  if (arena_ == nullptr) return fail(ErrorCode::no_device, "the device of the pinned memory is closed");
  auto const& limits = arena_->device().traits().limits;
  std::uint64_t const alignment = limits.min_imported_host_pointer_alignment;
  auto const bytes = static_cast<std::uint64_t>(memory.capacity_bytes());
  if (bytes % alignment != 0 || reinterpret_cast<std::uintptr_t>(memory.data()) % alignment != 0)
    return fail(ErrorCode::no_device, fmt::format("the device imports whole units only, bytes: {}", alignment));
  auto const most =
      std::min({kMostImportBytes, limits.max_buffer_size, limits.max_memory_allocation_size}) / alignment * alignment;
  for (std::uint64_t begin = 0; begin < bytes; begin += most) {
    auto const part = std::min(most, bytes - begin);
    GARUDA_TRY_ASSIGN(auto buffer, arena_->import_host({memory.data() + begin, part}, 0, "pinned host memory"));
    imports_.emplace(memory.data() + begin, Import{std::move(buffer), part});
  }
  return {};
}

void PinnedRegistry::forget(AlignedBuffer const& memory) noexcept {
  auto import = imports_.lower_bound(memory.data());
  while (import != imports_.end() && import->first < memory.data() + memory.capacity_bytes()) {
    import->second.buffer.destroy();
    import = imports_.erase(import);
  }
}

std::optional<AlignedBuffer> PinnedRegistry::take_kept(std::uint64_t bytes) {
  auto best = kept_.end();
  for (auto kept = kept_.begin(); kept != kept_.end(); ++kept) {
    auto const size = static_cast<std::uint64_t>(kept->capacity_bytes());
    bool const fits = size >= bytes && size / kMostSlack <= bytes;
    if (fits && (best == kept_.end() || kept->capacity_bytes() < best->capacity_bytes())) best = kept;
  }
  if (best == kept_.end()) return std::nullopt;
  auto memory = std::move(*best);
  kept_.erase(best);
  kept_bytes_ -= static_cast<std::uint64_t>(memory.capacity_bytes());
  return memory;
}

void PinnedRegistry::shrink_to(std::uint64_t bytes) noexcept {
  while (kept_bytes_ > bytes) {
    kept_bytes_ -= static_cast<std::uint64_t>(kept_.front().capacity_bytes());
    forget(kept_.front());
    kept_.erase(kept_.begin());
  }
}

void PinnedRegistry::give_back(AlignedBuffer memory) noexcept {
  std::lock_guard const lock(mutex_);
  auto const bytes = static_cast<std::uint64_t>(memory.capacity_bytes());
  if (arena_ == nullptr) return;
  if (bytes <= kept_limit_) {
    try {
      kept_.push_back(std::move(memory));
      kept_bytes_ += bytes;
      shrink_to(kept_limit_);
      return;
    } catch (std::bad_alloc const&) {
      // No memory for the list: `memory` is as it was, and goes back to the operating system.
    }
  }
  forget(memory);
}

std::optional<BufferView> PinnedRegistry::find(std::byte const* address, std::uint64_t bytes) const {
  std::lock_guard const lock(mutex_);
  auto import = imports_.upper_bound(address);
  if (import == imports_.begin()) return std::nullopt;
  --import;
  auto const offset = static_cast<std::uint64_t>(address - import->first);
  if (offset >= import->second.bytes) return std::nullopt;
  return import->second.buffer.view(offset, std::min(bytes, import->second.bytes - offset));
}

bool PinnedRegistry::covers(std::byte const* address, std::uint64_t bytes) const {
  while (bytes > 0) {
    auto const part = find(address, bytes);
    if (!part) return false;
    address += part->bytes;
    bytes -= part->bytes;
  }
  return true;
}

void PinnedRegistry::set_kept_limit(std::uint64_t bytes) {
  std::lock_guard const lock(mutex_);
  kept_limit_ = bytes;
  shrink_to(bytes);
}

void PinnedRegistry::trim() {
  std::lock_guard const lock(mutex_);
  shrink_to(0);
}

std::uint64_t PinnedRegistry::kept_bytes() const {
  std::lock_guard const lock(mutex_);
  return kept_bytes_;
}

void PinnedRegistry::close() noexcept {
  std::lock_guard const lock(mutex_);
  for (auto& [address, import] : imports_) import.buffer.destroy();
  imports_.clear();
  kept_.clear();
  kept_bytes_ = 0;
  arena_.reset();
}

}  // namespace garuda::vk
